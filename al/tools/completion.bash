# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck shell=bash
# Completion of ibal's programs in bash. It knows no option and no subcommand itself: the programs' own help texts say
# what there is ("--help-all", "al_query help SUBCOMMAND"), and al_query says which HCAs are there.

# The program al_query beside the program $1.
_ibal_query() {
	case $1 in
	*/*) printf '%s/al_query' "${1%/*}" ;;
	*) printf 'al_query' ;;
	esac
}

# Prints the help text of the program $1 in which the options of the command line are; $2: subcommand or nothing.
_ibal_help() {
	case ${1##*/} in
	al_run) "$1" --help ;;
	al_query) if [ -n "$2" ]; then "$1" help "$2"; else "$1" --help-all; fi ;;
	*) "$1" --help-all ;;
	esac 2>/dev/null
}

# Of a help text: the options, a line for each, such as "--ca GUID|INDEX" or "-C GUID|INDEX".
_ibal_options() {
	sed -nE 's/^  (-[a-zA-Z], )?(--[a-z-]+)([= ]([^ ]+))?(  .*)?$/\1 \2 \4/p' |
		while read -r first second third; do
			case $first in
			-?,) printf '%s %s\n%s %s\n' "${first%,}" "$third" "$second" "$third" ;;
			*) printf '%s %s\n' "$first" "$second" ;;
			esac
		done
}

_ibal_subcommands() {
	"$1" --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p'
}

_ibal_guids() {
	"$(_ibal_query "$1")" --json ca 2>/dev/null | sed -n 's/^ *"guid" : "\(0x[0-9a-f]*\)".*/\1/p' | sort -u
}

# The names under which other processes wait for the program $1.
_ibal_listeners() {
	sed -n "s|^.* @ibal/${1##*/}/\(.*\)\$|agent:\1|p" /proc/net/unix 2>/dev/null
}

# The values of an option: $1 program, $2 subcommand, $3 option, $4 what its help calls the value.
_ibal_values() {
	case $4 in
	GUID* | HCA) _ibal_guids "$1" ;;
	FILE | PATH) compgen -f -- "$cur" ;;
	[a-z]*'|'*) tr '|' '\n' <<<"$4" ;;
	*) _ibal_help "$1" "$2" | sed -n "s/^Values of $3: //p" | tr ' ' '\n' ;;
	esac
}

# Words that may follow the subcommand: those that its usage line offers, such as "check|list|set".
_ibal_arguments() {
	local form
	form=$(_ibal_help "$1" "$2" | sed -n "s/^usage: al_query $2 \\[*\\([^] ]*\\).*/\\1/p")
	case $form in
	SUBCOMMAND) _ibal_subcommands "$1" ;;
	TYPE) _ibal_values "$1" "$2" --type TYPE ;;
	FILE) compgen -f -- "$cur" ;;
	*'|'*) tr '|' '\n' <<<"$form" ;;
	esac
}

_ibal() {
	local program=$1 line=${COMP_LINE:0:COMP_POINT} cur sub='' option='' value word words before=0 commands=0
	local -a found
	COMPREPLY=()
	cur=${line##*[[:space:]]}
	read -ra words <<<"${line%"$cur"}"

	# Which subcommand or operand stands before, and whether an option waits for its value.
	for word in "${words[@]:1}"; do
		if [ -n "$option" ]; then
			option=''
			continue
		fi
		case $word in
		--*=*) ;;
		--) commands=1 ;;
		-*)
			value=$(_ibal_help "$program" "$sub" | _ibal_options | sed -n "s/^$word \(.\)/\1/p")
			case $value in
			'' | '['*) ;;
			*) option=$word ;;
			esac
			;;
		*)
			before=$((before + 1))
			[ "${program##*/}" != al_query ] || sub=${sub:-$word}
			[ "${program##*/}" != al_run ] || commands=2
			;;
		esac
	done
	case $cur in
	--*=*)
		option=${cur%%=*}
		value=$(_ibal_help "$program" "$sub" | _ibal_options | sed -n "s/^$option \(.\)/\1/p")
		cur=${cur#*=}
		;;
	esac

	if [ -n "$option" ]; then
		found=("$(_ibal_values "$program" "$sub" "$option" "$value")")
	elif [[ $commands = 2 || ($sub = capture && $before -gt 1) ]]; then
		found=("$(compgen -f -- "$cur")")
	elif [[ $commands = 1 || ($cur != -* && ($sub = capture || ${program##*/} = al_run)) ]]; then
		found=("$(compgen -c -- "$cur")")
	elif [ "${cur#-}" != "$cur" ]; then
		found=("$(_ibal_help "$program" "$sub" | _ibal_options | sed 's/ .*//')")
	elif [ "${program##*/}" = al_query ]; then
		if [ -z "$sub" ]; then
			found=("$(_ibal_subcommands "$program")")
		elif [ $before = 1 ]; then
			found=("$(_ibal_arguments "$program" "$sub")")
		fi
	elif [ "${program##*/}" = al_perf ]; then
		found=("$("$program" --help 2>/dev/null | sed -n 's/^Operations: \(.*\), or \([a-z]*\) .*/\1 \2/p' | tr ' ' '\n')"
			"$(_ibal_listeners "$program")")
	elif [ "${program##*/}" = al_cp ]; then
		found=("$(compgen -f -- "$cur")" "$(_ibal_listeners "$program")")
	fi
	while read -r word; do
		[ -z "$word" ] || COMPREPLY+=("$word")
	done < <(IFS=$'\n' compgen -W "$(printf '%s\n' "${found[@]}")" -- "$cur")

	# Readline has split the word at its colons, and replaces only what is behind the last one.
	case $cur in
	*:*)
		if [[ $COMP_WORDBREAKS == *:* ]]; then
			COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}")
		fi
		;;
	esac
}

complete -o filenames -o bashdefault -F _ibal al_query al_cp al_perf al_run ald
