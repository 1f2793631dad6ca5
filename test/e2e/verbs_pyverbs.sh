#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The distribution's pyverbs on the replacement of libibverbs: verbs_cases.py with HCAs of its own, and on an agent's with and
# without the user-mode provider.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/verbs.sh
. "$top_srcdir/test/e2e/verbs.sh"
needs_plain_build
/usr/bin/python3 -c 'import pyverbs.device' 2>/dev/null || {
	echo "python3-pyverbs is not installed (./quickstart check installs it)"
	exit 77
}
program() {
	LD_LIBRARY_PATH=$build/al/compat/verbs/.libs:$build/.libs timeout "$(scaled 180)" \
		/usr/bin/python3 "$top_srcdir/test/e2e/verbs_cases.py" >out 2>err || wrong "$1: $(cat out err)"
	[ ! -s out ] || wrong "$1: $(cat out)"
	# The program makes a queue overflow.
	! grep -v 'a completion queue of 16 entries has overflowed' err || wrong "$1: $(cat err)"
}
program 'HCAs of its own'
start_agent
program 'an agent'
export IBAL_UVP_PATH=$build/uvp/soft/.libs
program 'an agent, with the provider'
passed
