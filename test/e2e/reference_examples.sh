#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The examples of the reference (doc/examples/reference), from which the pages quote, run with HCAs of their own and by an
# agent, print what they are for, and leave nothing behind.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
examples=$build/doc/examples/reference

prints() { # EXAMPLE LINE...: the example succeeds without a word of the library, and prints the lines
	local example=$1 line
	shift
	"$examples/$example" >out 2>err || wrong "$example: exit status $?: $(cat err)"
	[ ! -s err ] || wrong "$example: $(cat err)"
	for line in "$@"; do
		grep -qE "$line" out || wrong "$example does not print \"$line\", but: $(cat out)"
	done
}

all_of_them() {
	prints open 'port 1: LID [0-9]+, Active'
	prints transfer '^request 1: receive, 6 bytes' '^request 2: send' '^received: hello'
	prints datagram '^ping' '^pong'
	prints connect '^memory: written by the peer' '^datagram: ping'
	prints memory 'bytes: lkey 0x[0-9a-f]+, rkey 0x[0-9a-f]+'
	prints pnp 'is here' 'port 1: port active' '^that were all: 2' 'goes'
	prints channel '^HCAs: HCA added' '^HCAs: replay complete'
}

for source in "$top_srcdir"/doc/examples/reference/*.c; do
	grep -q "prints $(basename "$source" .c) " "$top_srcdir/test/e2e/reference_examples.sh" || wrong "$source is not run by this test"
done
all_of_them

start_agent
all_of_them
stop_agent
passed
