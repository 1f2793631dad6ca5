# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The contracts, one header per reader (ib_mad.h has a part per management class). Exported symbols are
# read from these (al/mkmap.sh).

IBA_CONTRACTS = \
	include/iba/ib_types.h \
	include/iba/ib_verbs.h \
	include/iba/ib_flat_wr.h \
	include/iba/ib_hca.h \
	include/iba/ib_mad.h \
	include/iba/ib_mad_base.h \
	include/iba/ib_mad_cm.h \
	include/iba/ib_mad_perf.h \
	include/iba/ib_mad_sa.h \
	include/iba/ib_mad_sm.h \
	include/iba/ib_notice.h \
	include/iba/ib_uvp.h \
	include/iba/ib_al.h \
	include/iba/ib_connect.h \
	include/iba/ib_soft.h

ibaincludedir = $(includedir)/iba
ibainclude_HEADERS = $(IBA_CONTRACTS)
