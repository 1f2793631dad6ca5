#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The examples hotplug and fault_injection, built outside the tree with what "make install" installs, and run. hotplug is
# the client of an agent at which HCAs and cables come and go (hotplug_test.c); fault_injection is itself a test.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL # the outer make's, which has its own ideas

make -s -C "$build" install DESTDIR="$tmp/image" >install.log 2>&1 || {
	cat install.log
	exit 1
}
PKG_CONFIG_LIBDIR=$(dirname "$(find "$tmp/image" -name ibal.pc)")
PKG_CONFIG_SYSROOT_DIR=$tmp/image
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
libdir=$tmp/image$(env -u PKG_CONFIG_SYSROOT_DIR pkg-config --variable=libdir ibal)

# install_example NAME: copies the installed example and builds it by its Makefile.
install_example() {
	cp -R "$(dirname "$(find "$tmp/image" -path "*/examples/$1/Makefile")")" "$tmp/$1"
	make -s -C "$tmp/$1" CC="${CC:?is set by make check}" CFLAGS="-Wall -Wextra -Werror ${SANITIZE-}"
	[ "$(wc -l <"$tmp/$1/$1.c")" -lt 150 ] || wrong "the example $1 has $(wc -l <"$tmp/$1/$1.c") lines"
}

# ---- hotplug -------------------------------------------------------------------------------------

install_example hotplug
LD_LIBRARY_PATH=$libdir IBAL_EXAMPLE=$tmp/hotplug/hotplug "$build/test/e2e/hotplug_test" ||
	wrong "the example hotplug"

# ---- fault_injection -----------------------------------------------------------------------------

install_example fault_injection
LD_LIBRARY_PATH=$libdir "$tmp/fault_injection/fault_injection" >out 2>err || wrong "fault_injection: $(cat out err)"
cat >want <<END
lost packets: 1 sent, 1 repeated. 
a broken cable: 0 sent, 3 repeated. no answer
no receive: 0 sent, 3 repeated. no answer
a refused access: 0 sent, 0 repeated. remote access error
a removed HCA: 0 sent, 0 repeated. the HCA has been removed
END
diff want out || wrong "fault_injection says: $(cat out)"
# The program has no registration for HCAs that go, so the library tells whom the removal concerns.
! grep -v ' left ' err || wrong "fault_injection says: $(cat err)"

passed
