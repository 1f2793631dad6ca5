#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The files of "make install" suffice outside the tree: a vendor builds hca/skeleton and uvp/skeleton, and an
# application builds a channel driver, the examples of the reference and the example vendor_mad, with the installed headers and pkg-config files alone; the
# program finds the HCAs of that module and those of the installed modules, and the example's text comes back.
set -eu

build=${top_builddir:?is set by make check}
source=${top_srcdir:?is set by make check}
unset MAKEFLAGS MFLAGS MAKELEVEL # the outer make's, which has its own ideas
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

make -s -C "$build" install DESTDIR="$tmp/image" >"$tmp/install.log" 2>&1 || {
	cat "$tmp/install.log"
	exit 1
}

# From here on only these variables lead to the library. The sysroot stands for "/", where a package would install.
PKG_CONFIG_LIBDIR=$(dirname "$(find "$tmp/image" -name ibal.pc)")
PKG_CONFIG_SYSROOT_DIR=$tmp/image
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
libdir=$tmp/image$(env -u PKG_CONFIG_SYSROOT_DIR pkg-config --variable=libdir ibal)
moduledir=$tmp/image$(env -u PKG_CONFIG_SYSROOT_DIR pkg-config --variable=moduledir ibal-ci)

# A vendor starts with the installed example and its Makefile.
cp -R "$(dirname "$(find "$tmp/image" -path '*/skeleton/Makefile')")" "$tmp/vendor"
make -s -C "$tmp/vendor" CC="$CC" CFLAGS="-Wall -Wextra -Werror $SANITIZE"
make -s -C "$tmp/vendor" install DESTDIR="$tmp/modules/"
modules=$(dirname "$(find "$tmp/modules" -path '*/hca/skeleton.so')")
# The vendor's user-mode provider starts with its installed example, too.
cp -R "$(dirname "$(find "$tmp/image" -path '*/skeleton-uvp/Makefile')")" "$tmp/provider"
make -s -C "$tmp/provider" CC="$CC" CFLAGS="-Wall -Wextra -Werror $SANITIZE"
make -s -C "$tmp/provider" install DESTDIR="$tmp/modules/"
[ -e "$(dirname "$modules")/uvp/skeleton.so" ] || { echo "the provider is not beside the modules"; exit 1; }

mkdir "$tmp/driver"
cp "$source/test/e2e/outside_driver.c" "$tmp/driver"
cd "$tmp/driver"
# shellcheck disable=SC2046,SC2086 # lists of flags
$CC -std=c17 -Wall -Wextra -Werror $SANITIZE $(pkg-config --cflags ibal) \
	-o driver outside_driver.c $(pkg-config --libs ibal)

# run WHOSE MODULES: runs the driver, and fails unless the driver prints a port.
run() {
	echo "HCAs of $1:"
	IBAL_MODULE_PATH=$2 LD_LIBRARY_PATH=$libdir ./driver >out
	cat out
	grep -q ' port 1 ' out || { echo "no HCA of $1 was found"; exit 1; }
}

# An author of a channel driver starts with the installed example and its Makefile.
cp -R "$(dirname "$(find "$tmp/image" -path '*/vendor_mad/Makefile')")" "$tmp/example"
make -s -C "$tmp/example" CC="$CC" CFLAGS="-Wall -Wextra -Werror $SANITIZE"
IBAL_MODULE_PATH=$moduledir LD_LIBRARY_PATH=$libdir "$tmp/example/vendor_mad" both outside_driver.c >text
cmp outside_driver.c text

# The reference's pages and the examples that they quote are installed, and the examples need nothing else.
for page in man3/al_create_qp.3 man3/al_status_name.3 man3/ib_wc.3type man7/ibal_objects.7; do
	find "$tmp/image" -path "*/$page" | grep -q . || { echo "$page is not installed"; exit 1; }
done
if [ -e "$build/doc/html/index.html" ]; then
	find "$tmp/image" -path '*/doc/*/html/index.html' | grep -q . || { echo "the HTML is not installed"; exit 1; }
fi
cp -R "$(dirname "$(find "$tmp/image" -path '*/examples/reference/Makefile')")" "$tmp/reference"
make -s -C "$tmp/reference" CC="$CC" CFLAGS="-Wall -Wextra -Werror $SANITIZE"
IBAL_MODULE_PATH=$moduledir LD_LIBRARY_PATH=$libdir "$tmp/reference/transfer" | grep -q '^received: hello$'

run "the vendor's module" "$modules"
run "the installed modules" "$moduledir"

# al_run finds the agent, its modules and the libraries of a staged installation from its own place, also when a link leads to it.
bindir=$(dirname "$(find "$tmp/image" -path "*/bin/al_run")")
mkdir "$tmp/run"
ln -s "$bindir/al_run" "$tmp/linked"
# al_run has a command load a library before all others, which AddressSanitizer does not expect.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
for al_run in "$bindir/al_run" "$tmp/linked"; do
	env -u IBAL_MODULE_PATH -u IBAL_UVP_PATH -u IBAL_AGENT -u LD_LIBRARY_PATH XDG_RUNTIME_DIR="$tmp/run" \
		"$al_run" "$bindir/al_query" ca >out
	grep -q 'soft HCA 0' out || { echo "the HCAs of the agent are not: $(cat out)"; exit 1; }
	agent=$(cat "$tmp/run/ibal/ald.pid")
	case $(readlink "/proc/$agent/exe") in
	"$tmp/image"/*/ald) ;;
	*) echo "the agent is $(readlink "/proc/$agent/exe")"; exit 1 ;;
	esac
	kill "$agent"
	tail --pid="$agent" -f /dev/null
done
