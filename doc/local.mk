# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Doxygen of the public headers and the guides ("make doc"; a warning is an error), and the man pages.

# Whether doxygen is there is asked now, not when this build was configured.
DOXYGEN = doxygen
doc: doc/Doxyfile
	@command -v $(DOXYGEN) >/dev/null || { \
		echo "make doc: there is no $(DOXYGEN) (apt-get install doxygen)" >&2; exit 1; }
	$(AM_V_GEN)cd doc && $(DOXYGEN) -q Doxyfile
.PHONY: doc

clean-local:
	-rm -rf doc/html

EXTRA_DIST += doc/xmacro.awk

dist_man_MANS += doc/man/al_cp.1 doc/man/al_perf.1 doc/man/al_query.1 doc/man/al_run.1 doc/man/ald.8 doc/man/ibal.7 doc/man/ibal.conf.5 doc/man/ibal-soft.5
# Installed as an author of a channel driver finds it: a source file and a Makefile that needs nothing but what is installed.
# Built here for the tests.
vendormaddir = $(docdir)/examples/vendor_mad
dist_vendormad_DATA = doc/examples/vendor_mad/Makefile doc/examples/vendor_mad/vendor_mad.c
noinst_PROGRAMS += doc/examples/vendor_mad/vendor_mad
doc_examples_vendor_mad_vendor_mad_LDADD = libibal.la

topologydir = $(docdir)/examples
dist_topology_DATA = doc/examples/small-tree.topology
dist_doc_DATA = \
	doc/adding-an-operation.md \
	doc/dependencies.md \
	doc/guide-admin.md \
	doc/guide-driver.md \
	doc/guide-vendor.md \
	doc/quick-reference.md \
	doc/requirements.md \
	doc/status.md
