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
	-rm -rf doc/html doc/pages

EXTRA_DIST += doc/filter.sh doc/xmacro.awk

# The man pages of the API (3, 3type, 7), made from the comments of the headers. The generator knows what there is, so
# make is not told the pages' names: they are in doc/pages, and all of that directory is installed.
REFERENCE_MAKERS = doc/reference/man.py doc/reference/header.py doc/reference/roff.py
REFERENCE_CONCEPTS = doc/reference/ibal_callbacks.md doc/reference/ibal_completions.md doc/reference/ibal_connecting.md doc/reference/ibal_errors.md \
	doc/reference/ibal_memory.md doc/reference/ibal_objects.md doc/reference/ibal_qp_states.md doc/reference/ibal_roles.md
REFERENCE_EXAMPLES = doc/examples/reference/channel.c doc/examples/reference/connect.c doc/examples/reference/datagram.c doc/examples/reference/memory.c \
	doc/examples/reference/open.c doc/examples/reference/pnp.c doc/examples/reference/transfer.c
EXTRA_DIST += $(REFERENCE_MAKERS) $(REFERENCE_CONCEPTS)

doc/pages.stamp: $(REFERENCE_MAKERS) $(REFERENCE_CONCEPTS) $(REFERENCE_EXAMPLES) doc/examples/reference/must.h $(IBA_CONTRACTS) doc/xmacro.awk
	$(AM_V_GEN)$(MKDIR_P) doc && $(PYTHON3) $(srcdir)/doc/reference/man.py --top $(srcdir) --out doc/pages \
		--awk '$(AWK)' --version $(VERSION) --docdir $(docdir) && touch $@
CLEANFILES += doc/pages.stamp
all-local: doc/pages.stamp

install-data-local: install-pages
uninstall-local: uninstall-pages
.PHONY: install-pages uninstall-pages
install-pages: doc/pages.stamp
	$(MKDIR_P) "$(DESTDIR)$(mandir)/man3" "$(DESTDIR)$(mandir)/man7"
	$(INSTALL_DATA) doc/pages/*.3* "$(DESTDIR)$(mandir)/man3"
	$(INSTALL_DATA) doc/pages/*.7 "$(DESTDIR)$(mandir)/man7"
	if test -e doc/html/index.html; then \
		$(MKDIR_P) "$(DESTDIR)$(docdir)/html" && cp -R doc/html/. "$(DESTDIR)$(docdir)/html"; fi

uninstall-pages:
	if test -d doc/pages; then cd doc/pages && for page in *; do \
		rm -f "$(DESTDIR)$(mandir)/man3/$$page" "$(DESTDIR)$(mandir)/man7/$$page"; done; fi
	rm -rf "$(DESTDIR)$(docdir)/html"

# The examples in the pages: small programs, of which the pages show the parts between two marks "[NAME]".
referencedir = $(docdir)/examples/reference
dist_reference_DATA = $(REFERENCE_EXAMPLES) doc/examples/reference/must.h doc/examples/reference/Makefile

dist_man_MANS += doc/man/al_cp.1 doc/man/al_perf.1 doc/man/al_query.1 doc/man/al_run.1 doc/man/ald.8 doc/man/ibal.7 doc/man/ibal.conf.5 doc/man/ibal-soft.5
# Installed as an author of a channel driver finds it: a source file and a Makefile that needs nothing but what is installed.
# Built here for the tests.
vendormaddir = $(docdir)/examples/vendor_mad
dist_vendormad_DATA = doc/examples/vendor_mad/Makefile doc/examples/vendor_mad/vendor_mad.c
noinst_PROGRAMS += doc/examples/vendor_mad/vendor_mad
doc_examples_vendor_mad_vendor_mad_LDADD = libibal.la

hotplugdir = $(docdir)/examples/hotplug
dist_hotplug_DATA = doc/examples/hotplug/Makefile doc/examples/hotplug/hotplug.c
noinst_PROGRAMS += doc/examples/hotplug/hotplug
doc_examples_hotplug_hotplug_LDADD = libibal.la
faultinjectiondir = $(docdir)/examples/fault_injection
dist_faultinjection_DATA = doc/examples/fault_injection/Makefile doc/examples/fault_injection/fault_injection.c
noinst_PROGRAMS += doc/examples/fault_injection/fault_injection
doc_examples_fault_injection_fault_injection_LDADD = libibal.la

# The examples of programs: each is installed in a directory of its own, with the headers that some of them share.
EXAMPLE_FLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/doc/examples
rpcechodir = $(docdir)/examples/rpc_echo
dist_rpcecho_DATA = doc/examples/rpc_echo/Makefile doc/examples/rpc_echo/rpc_echo.c doc/examples/end.h \
	doc/examples/join.h doc/examples/rpc.h
rpcglibdir = $(docdir)/examples/rpc_glib
dist_rpcglib_DATA = doc/examples/rpc_glib/Makefile doc/examples/rpc_glib/rpc_glib.c doc/examples/end.h \
	doc/examples/join.h doc/examples/rpc.h
datagramdir = $(docdir)/examples/datagram
dist_datagram_DATA = doc/examples/datagram/Makefile doc/examples/datagram/datagram.c doc/examples/end.h
writereaddir = $(docdir)/examples/write_read
dist_writeread_DATA = doc/examples/write_read/Makefile doc/examples/write_read/write_read.c doc/examples/end.h \
	doc/examples/join.h
noinst_PROGRAMS += doc/examples/datagram/datagram doc/examples/rpc_echo/rpc_echo doc/examples/rpc_glib/rpc_glib \
	doc/examples/write_read/write_read
doc_examples_datagram_datagram_CPPFLAGS = $(EXAMPLE_FLAGS)
doc_examples_datagram_datagram_LDADD = libibal.la
doc_examples_rpc_echo_rpc_echo_CPPFLAGS = $(EXAMPLE_FLAGS)
doc_examples_rpc_echo_rpc_echo_LDADD = libibal.la
doc_examples_rpc_glib_rpc_glib_CPPFLAGS = $(EXAMPLE_FLAGS)
doc_examples_rpc_glib_rpc_glib_LDADD = libibal.la $(GLIB_LIBS)
doc_examples_write_read_write_read_CPPFLAGS = $(EXAMPLE_FLAGS)
doc_examples_write_read_write_read_LDADD = libibal.la

noinst_PROGRAMS += doc/examples/reference/channel doc/examples/reference/connect doc/examples/reference/datagram doc/examples/reference/memory \
	doc/examples/reference/open doc/examples/reference/pnp doc/examples/reference/transfer
doc_examples_reference_channel_LDADD = libibal.la
doc_examples_reference_connect_LDADD = libibal.la
doc_examples_reference_datagram_LDADD = libibal.la
doc_examples_reference_memory_LDADD = libibal.la
doc_examples_reference_open_LDADD = libibal.la
doc_examples_reference_pnp_LDADD = libibal.la
doc_examples_reference_transfer_LDADD = libibal.la

topologydir = $(docdir)/examples
dist_topology_DATA = doc/examples/small-tree.topology
dist_doc_DATA = \
	doc/adding-an-operation.md \
	doc/dependencies.md \
	doc/guide-admin.md \
	doc/guide-driver.md \
	doc/guide-vendor.md \
	doc/guide-verbs.md \
	doc/quick-reference.md \
	doc/requirements.md \
	doc/status.md
