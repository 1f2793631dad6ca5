#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# verbs_program.c, compiled with Debian's <infiniband/verbs.h> and linked with -libverbs: with HCAs of its own, and on an agent's
# with and without the user-mode provider.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/verbs.sh
. "$top_srcdir/test/e2e/verbs.sh"
echo '#include <infiniband/verbs.h>' | $CC -E - >/dev/null 2>&1 || {
	echo "libibverbs-dev is not installed (./quickstart check installs it)"
	exit 77
}
mkdir link
ln -s "$build/al/compat/verbs/.libs/libibverbs.so.1" link/libibverbs.so
# shellcheck disable=SC2086 # SANITIZE may be several words
$CC -std=gnu17 -D_GNU_SOURCE -Wall -pthread $SANITIZE -o program -I"$top_srcdir/include" "$top_srcdir/test/e2e/verbs_program.c" \
	-Llink -libverbs -L"$build/.libs" -libal ||
	wrong "the program is not compiled"
program() {
	LD_LIBRARY_PATH=$build/al/compat/verbs/.libs:$build/.libs timeout "$(scaled 180)" ./program >out 2>err ||
		wrong "$1: status $?: $(cat out err)"
	[ -z "$(cat out err)" ] || wrong "$1: $(cat out err)"
}
program 'HCAs of its own'
start_agent
program 'an agent'
export IBAL_UVP_PATH=$build/uvp/soft/.libs
program 'an agent, with the provider'
[[ ${SANITIZE-} != *thread* ]] || echo 'SKIP: the test of forks: ThreadSanitizer lets a child start no thread'
passed
