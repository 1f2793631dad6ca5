#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Completion in bash offers what the programs' own help says: subcommands, options, values, HCAs, and ends that wait.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
set +eu # as in a user's shell
# shellcheck source=/dev/null # has no first line of a script, since it is not run
. "$top_srcdir/al/tools/completion.bash"

export IBAL_SOFT="[hca 0] guid=0x0200000000000100 [hca 1] guid=0x0200000000000200"

# offers LINE WORD...: the last word of the line is completed to these words, and to no others.
offers() {
	COMP_LINE=$build/$1
	COMP_POINT=${#COMP_LINE}
	local words=()
	read -ra words <<<"$COMP_LINE"
	shift
	COMPREPLY=()
	_ibal "${words[0]}" "" ""
	[ "$(printf '%s\n' "${COMPREPLY[@]}" | sort)" = "$(printf '%s\n' "$@" | sort)" ] ||
		wrong "\"$COMP_LINE\" offers \"${COMPREPLY[*]}\", not \"$*\""
}

for program in al_query al_cp al_perf al_run ald; do
	complete -p $program | grep -q -- '-F _ibal' || wrong "$program is not completed"
done

# ---- subcommands and their options -----------------------------------------------------------------

mapfile -t subcommands < <("$build/al_query" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p')
[ ${#subcommands[@]} -ge 20 ] || wrong "there are ${#subcommands[@]} subcommands"
offers "al_query " "${subcommands[@]}"
offers "al_query --json p" pci pd pkey port prom
offers "al_query --port 1 do" doctor
offers "al_query help ev" events
offers "al_query pkey --" --ca --count --help --json --port --watch
offers "al_query --js" --json
offers "al_query events -" -C -P -h -j -n -t --ca --count --help --json --port --timeout
for sub in "${subcommands[@]}"; do
	mapfile -t options < <("$build/al_query" help "$sub" | grep -oE '^  (-.,)? *--[a-z-]+' | grep -oE -- '--[a-z-]+')
	[ ${#options[@]} -ge 1 ] || wrong "help $sub has no option"
	[ "$sub" = capture ] || offers "al_query $sub --" "${options[@]}"
done

# ---- values ------------------------------------------------------------------------------------------

offers "al_query port --ca " 0x0200000000000100 0x0200000000000200
offers "al_query port --ca=0x0200000000000" 0x0200000000000100 0x0200000000000200
offers "al_query port -C 0x02000000000002" 0x0200000000000200
offers "al_cp --from 0x02000000000001" 0x0200000000000100
offers "al_query topology --format " text dot svg json
offers "al_query topology --format=s" svg
offers "al_query res --type c" ca cq channel
offers "al_query res q" qp
offers "al_query qp --state R" Reset RTR RTS
offers "al_query fault p" pull plug
offers "al_perf fa" fadd
offers "al_perf --ch" --chain --check
offers "al_cp --ch" --chunk
offers "ald --max-c" --max-clients
offers "al/compat/al_run --" --agent --private --embedded --roce --fault --capture --ca --shell --help
offers "al/compat/al_run opensm-that-is-nowhere"
: >afile
offers "al_cp af" afile
offers "al_query prom --output af" afile
offers "al_query topology af" afile

# ---- ends that wait ----------------------------------------------------------------------------------

tool=al_cp name=t$$
start_agent
listen out
offers "al_cp afile agent" agent "agent:$name" # the former is the socket of the agent
offers "al_cp afile agent:t" "$name" # readline has split the word
COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}
offers "al_cp afile agent:t" "agent:$name"
offers "al_perf agent:" # they wait for al_cp
stop_agent

passed
