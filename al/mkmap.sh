#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Prints libibal's version script: exactly the functions and variables that the given public headers
# declare. A declaration is told by the headers' layout: type and name on one line that starts in column
# one, a variable's with "extern". Inline functions, types and macros need no symbol; ci_module is each
# module's own.
set -eu

printf 'IBAL_1.0 {\nglobal:\n'
sed -nE '/^(static|typedef|#)/d
	s/^[a-z][a-z0-9_ ]*[ *]((al|ib|ci|uvp)_[a-z0-9_]+)\(.*$/\t\1;/p
	s/^extern [a-z0-9_ ]*[ *]((al|ib)_[a-z0-9_]+);.*$/\t\1;/p' "$@" | sort -u
printf 'local:\n\t*;\n};\n'
