#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The two programs of doc/guide-verbs.md, in C and in Python, compiled and run in the guide's words.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/verbs.sh
. "$top_srcdir/test/e2e/verbs.sh"
needs_plain_build
export PATH=/usr/bin:$PATH # where the distribution's Python has pyverbs
if ! echo '#include <infiniband/verbs.h>' | $CC -E - >/dev/null 2>&1 || ! python3 -c 'import pyverbs.device' 2>/dev/null; then
	echo "libibverbs-dev or python3-pyverbs is not installed (./quickstart check installs them)"
	exit 77
fi
become_user
guide=$top_srcdir/doc/guide-verbs.md

# block LANGUAGE: prints the guide's block of code in that language.
block() { awk -v first="\`\`\`$1" '$0 == "```" { on = 0 } on { print } $0 == first { on = 1 }' "$guide"; }
block c >own/program.c
block python >own/program.py
for file in own/program.c own/program.py; do
	[ -s $file ] || wrong "the guide has no $file"
	[ "$(wc -l <$file)" -le 20 ] || wrong "$file has more than 20 lines"
done
grep -qF 'cc program.c -libverbs -o program && al_run ./program' "$guide" || wrong "the guide does not say how to compile"
(cd own && $CC program.c -libverbs -o program) || wrong "the program is not compiled"
cd own
(al_run ./program) >out 2>&1 || wrong "the C program: $(cat out)"
grep -qxE 'soft0: port 1 is active, LID [1-9][0-9]*' out || wrong "the C program: $(cat out)"
(al_run python3 program.py) >out 2>&1 || wrong "the Python program: $(cat out)"
grep -qE '^[1-9][0-9]* queue pairs at most; GID 0 is fe80:' out || wrong "the Python program: $(cat out)"
cd ..
passed
