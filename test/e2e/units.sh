#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# systemd accepts the units that are installed.
set -euo pipefail

build=${top_builddir:?is set by make check}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

if ! command -v systemd-analyze >/dev/null; then
	echo "SKIP: systemd-analyze is not installed"
	exit 77
fi
printf '[Service]\nExecStart=/bin/true\n' >"$tmp/plain.service"
if ! systemd-analyze verify --man=no "$tmp/plain.service" >"$tmp/out" 2>&1; then
	echo "SKIP: systemd-analyze verifies nothing here: $(head -n 1 "$tmp/out")"
	exit 77
fi
cp "${top_srcdir:?is set by make check}/al/agent/ald.socket" "$tmp"
# The program is installed at that path only later.
sed "s|^ExecStart=.*/ald$|ExecStart=$build/ald|" "$build/al/agent/ald.service" >"$tmp/ald.service"
grep -q "^ExecStart=$build/ald$" "$tmp/ald.service"
cp "$top_srcdir/al/tools/ibal-prom.timer" "$tmp"
sed "s|^ExecStart=[^ ]*/al_query |ExecStart=$build/al_query |" "$build/al/tools/ibal-prom.service" >"$tmp/ibal-prom.service"
grep -q "^ExecStart=$build/al_query prom " "$tmp/ibal-prom.service"
systemd-analyze verify --man=no "$tmp/ald.service" "$tmp/ald.socket" "$tmp/ibal-prom.service" "$tmp/ibal-prom.timer" >"$tmp/out" 2>&1 || {
	cat "$tmp/out"
	exit 1
}
# Only warnings about these units count; the machine's own units may have warnings.
if grep "$tmp\|^ald\.\|^ibal-" "$tmp/out"; then
	exit 1
fi
