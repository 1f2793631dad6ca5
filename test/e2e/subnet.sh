#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Helpers for the tests of managed subnets, which source this file after tools.sh: topologies, OpenSM, and the program
# subnet_client.
# shellcheck disable=SC2154 # build and tmp are of tools.sh

export PATH=$PATH:/usr/sbin:/sbin
command -v opensm >/dev/null || { echo "SKIP: opensm is not installed"; exit 77; }
[[ ${SANITIZE-} != *-fsanitize=* ]] || { echo "SKIP: OpenSM does not load a library that is built with a sanitizer"; exit 77; }

tree() { # LEAVES SPINES HCAS-AT-A-LEAF: a tree in ibnetdiscover's text, with a cable from each leaf to each spine
	awk -v leaves="$1" -v spines="$2" -v down="$3" 'BEGIN {
		for (l = 0; l < leaves; l++) {
			printf "switchguid=0x%x\nSwitch\t%d \"S-%016x\"\n", 4096 + l, down + spines, 4096 + l
			for (i = 0; i < down; i++) printf "[%d]\t\"H-%016x\"[1]\n", i + 1, 65536 + l * 256 + i * 16
			for (s = 0; s < spines; s++) printf "[%d]\t\"S-%016x\"[%d]\n", down + s + 1, 8192 + s, l + 1
			print ""
		}
		for (s = 0; s < spines; s++) {
			printf "switchguid=0x%x\nSwitch\t%d \"S-%016x\"\n", 8192 + s, leaves, 8192 + s
			for (l = 0; l < leaves; l++) printf "[%d]\t\"S-%016x\"[%d]\n", l + 1, 4096 + l, down + s + 1
			print ""
		}
		for (l = 0; l < leaves; l++) for (i = 0; i < down; i++) {
			g = 65536 + l * 256 + i * 16
			printf "caguid=0x%x\nCa\t1 \"H-%016x\"\n[1]\t\"S-%016x\"[%d]\n\n", g, g, 4096 + l, i + 1
		}
	}'
}

client() { # NAME NUMBER
	"$build/test/e2e/subnet_client" --client "$1" "$2" "$IBAL_AGENT" >client.out 2>&1 || wrong "$1 $2: $(cat client.out)"
}

# carries HCAS: waits until datagrams pass between all pairs of the HCAs. Before, some may be lost, and nothing else may go wrong.
carries() {
	local others
	: >tries.out
	until_true "$build/test/e2e/subnet_client" --client send "$1" "$IBAL_AGENT" >>tries.out 2>&1 ||
		wrong "datagrams do not pass: $(cat tries.out)"
	others=$(grep -E ':[FE]:' tries.out | grep -vE 'is not Active$|has got [0-9]+ datagrams$' || true)
	[ -z "$others" ] || wrong "$others"
}

# OpenSM writes its log at once, and a second OpenSM soon finds that the first has gone.
printf '%s\n' 'force_log_flush TRUE' 'sweep_interval 1' 'sminfo_polling_timeout 300' 'polling_retry_number 2' >config

sm() { # NAME WORD...: starts OpenSM in the background; its log is NAME.log, its process $sm
	local name=$1
	shift
	mkdir -p "$name"
	OSM_TMP_DIR=$tmp/$name OSM_CACHE_DIR=$tmp/$name LD_LIBRARY_PATH=$build/al/compat/umad/.libs:$build/.libs \
		opensm -F config -D 3 -f "$tmp/$name.log" "$@" >"$name.out" 2>&1 &
	sm=$!
	jobs+=("$sm")
}

says() { # LOG COUNT TEXT: waits until the log has the text so many times
	until_true eval "[ \$(grep -c -- '$3' $1) -ge $2 ]" || wrong "\"$3\" is not $2 times in $1: $(tail -n 20 "$1")"
}

# clean LOG [EXPECTED]: the log has no error but those that match the pattern
clean() {
	local others
	others=$(grep ERR "$1" | grep -vE -- "${2:-^$}" || true)
	[ -z "$others" ] || wrong "$1 has errors: $others"
}

# What OpenSM says of a packet that was on its way through a cable or switch when that went (no answer comes to it).
# shellcheck disable=SC2034 # for the tests
lost='ERR (5410|5411|3113): .*\(IB_TIMEOUT\)|ERR 3120: Timeout while getting attribute'

end() { # PROCESS
	local job left=()
	kill "$1"
	wait "$1" || true
	for job in "${jobs[@]}"; do
		[ "$job" = "$1" ] || left+=("$job")
	done
	jobs=("${left[@]}")
}
