#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The commands of the README's "A subnet on a laptop", as they stand there, by a user without rights.
set -euo pipefail

export PATH=$PATH:/usr/sbin:/sbin
for tool in opensm ibnetdiscover ibtracert ibportstate setpriv; do
	command -v "$tool" >/dev/null || {
		echo "SKIP: $tool is not installed (./quickstart check installs it)"
		exit 77
	}
done
[[ ${SANITIZE-} != *-fsanitize=* ]] || { echo "SKIP: the tools do not load a library that is built with a sanitizer"; exit 77; }

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
build=$(realpath "$build")
top=$(realpath "$top_srcdir")

# The page's directories, with the programs of the build. The files in /tmp are the test's own.
mkdir -p build/root/bin build/root/share/doc/ibal run
ln -s "$top/doc/examples" build/root/share/doc/ibal/examples
ln -s "$top/README.md" README.md
ln -s "$build/al/compat/al_run" "$build/al_query" "$build/al_cp" build/root/bin
# shellcheck disable=SC2016 # the backticks are those of the page
awk '/^### A subnet on a laptop/ { here = 1 } /^Then / { here = 0 } /^```/ { code = /sh$/; next } here && code' "$top/README.md" |
	sed "s,/tmp/,$tmp/run/,g" >page
[ "$(grep -c al_run page)" -ge 10 ] || wrong "the README has no such page: $(cat page)"

as_user=()
if [ "$(id -u)" -eq 0 ]; then
	as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chown 65534:65534 run
fi
export XDG_RUNTIME_DIR=$tmp/run IBAL_MODULE_PATH=$build/hca/soft/.libs HOME=$tmp/run
unset IBAL_AGENT IBAL_SOFT
# Job control as in a user's shell, for "kill %1".
timeout "$(scaled 120)" "${as_user[@]}" bash -m page >out 2>err || wrong "the page ends with status $?: $(tail -n 5 out err)"

has() { grep -qE -- "$1" out || wrong "\"$1\" is not in: $(cat out err)"; }
has '^OK - 6 ports are Active'
has '^Switch	4 "S-0002c90300000100".*"leaf-1"'
has '^\[2\] -> .*"leaf-2"$'
has '^\[3\] -> switch port .* "spine-1"$'
has '^missing +cable from .*(leaf-2, port 3|spine-1, port 2)'
has '^\[4\] -> switch port .*spine-2'
has 'received +[0-9]+ bytes$'
has '^The two do not differ\.$'
has '^WARNING - 2 problems at 24 ports'
cmp run/copy "$top/README.md" || wrong "the copy differs"
grep -q '<svg ' run/subnet.svg || wrong "no picture"
grep -q '^Switch' run/before || wrong "no text of the subnet"
# The agent would end by itself after five seconds, see al_run.sh.
agent=$(pgrep -f -- "ald --socket $XDG_RUNTIME_DIR/ibal/ald.socket") || wrong "there is no agent"
jobs=("$agent")
passed
