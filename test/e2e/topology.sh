#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A subnet of a topology file as a user runs it: the HCAs of the file exist, a file copied from one to another passes
# the switches, and an error in the file is reported with its line.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
file=$top_srcdir/test/data/topology/new.txt

export IBAL_SOFT="topology=$file"
"$build/al_query" ca --json >cas
sed -n 's/^caguid=0x\([0-9a-f]*\).*/\1/p' "$file" >guids
[ -s guids ] || wrong "the file has no HCA"
while read -r guid; do
	grep -q "$(printf '0x%016x' "0x$guid")" cas || wrong "HCA $guid of the file is not there: $(cat cas)"
done <guids

mkdir out
head -c 3000001 /dev/urandom >data
"$build/al_cp" data out/copy >said 2>&1 || wrong "al_cp: $(cat said)"
cmp -s data out/copy || wrong "the copy differs"

# More HCAs than a fixed array in the tools might hold.
{
	printf 'switchguid=0x1000\nSwitch\t100 "S-0000000000001000"\n'
	for i in $(seq 100); do printf '[%d]\t"H-%016x"[1]\n' "$i" $((0x2000 + i * 16)); done
	for i in $(seq 100); do
		printf '\ncaguid=0x%x\nCa\t1 "H-%016x"\n[1]\t"S-0000000000001000"[%d]\n' $((0x2000 + i * 16)) $((0x2000 + i * 16)) "$i"
	done
} >star
export IBAL_SOFT="topology=$PWD/star"
[ "$("$build/al_query" ca --json | grep -c '"guid" : "0x0000')" -ge 100 ] || wrong "al_query does not list 100 HCAs"
rm out/copy
"$build/al_cp" --from 0x0000000000002000 --to 0x0000000000002640 data out/copy >said 2>&1 && wrong "al_cp finds an HCA that is not there"
"$build/al_cp" --from 0x0000000000002010 --to 0x0000000000002640 data out/copy >said 2>&1 || wrong "al_cp to the last of 100: $(cat said)"
cmp -s data out/copy || wrong "the copy through the star differs"

cp "$file" broken
printf 'Rt\t1 "R-0000000000000001"\t# "a router"\n' >>broken
export IBAL_SOFT="topology=$PWD/broken"
if "$build/al_query" ca >said 2>&1; then wrong "a topology with a router is taken"; fi
grep -q "broken:$(wc -l <broken): " said || wrong "no line is named: $(cat said)"

# What a software HCA can not be is told with a way out.
refused() { # TEXT
	if "$build/al_query" ca >said 2>&1; then wrong "a topology is taken that $1"; fi
	grep -qF -- "$1" said || wrong "\"$1\" is not in: $(cat said)"
}
echo 'Switch 2 "A"' >broken
refused 'has no HCA: al_* opens HCAs, so add a line'
# 17000 switches, each with a LID, in a ring
awk 'BEGIN { n = 17000; for (i = 0; i < n; i++) printf "Switch 3 \"S-%016x\"\n[1] \"S-%016x\"[2]\n", i + 16, (i + 1) % n + 16
	print "Ca 1 \"H\"\n[1] \"S-0000000000000010\"[3]" }' >ring
IBAL_SOFT="topology=$PWD/ring" refused 'forwarding tables of at most 256 MB: take a part of the subnet, or subnet=managed'
echo 'Ca 9 "B"' >>broken
refused 'has 9 ports, and a software HCA has at most 8: make two HCAs of it'

passed
