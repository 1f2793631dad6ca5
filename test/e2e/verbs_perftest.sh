#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The distribution's perftest, unmodified, between two processes of the user's own agent: each test with each transport that it
# has, and its options alone; exit status 0 and nothing on standard error at both ends. With IBAL_TEST_LONG every test has every
# option; else each option is tried with one test.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/verbs.sh
. "$top_srcdir/test/e2e/verbs.sh"
needs_programs ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_atomic_bw ib_atomic_lat setpriv
needs_plain_build
become_user
port=$(free_port)

# perftest says this of an HCA whose vendor it does not know, wherever inline data is chosen or never used.
expected_words='^Device not recognized to implement inline feature. Disabling it$'

# run PROGRAM WORD...: both ends; the client prints a line of figures.
run() {
	pair "$port" "$1" -F "${@:2}"
	grep -A1 '^ #bytes' client.out | grep -qE '^ *[0-9]+ +[0-9]+ ' || wrong "$*: no figures: $(cat client.out)"
}

few='-n 100'
for test in send write read atomic; do
	for kind in bw lat; do
		# shellcheck disable=SC2086 # two words
		run ib_${test}_$kind $few
	done
done
for kind in bw lat; do
	# shellcheck disable=SC2086
	{
		run ib_send_$kind -c UC $few
		run ib_send_$kind -c UD -s 1024 $few
		run ib_write_$kind -c UC $few
	}
done
options=('-a -n 5' "-b $few" "-q 8 $few" "-D 1" "-s 32 -I 64 $few" "-e $few" "-m 256 -s 5000 $few" "-l 4 $few" "--use_old_post_send $few"
	"-r 32 -t 16 $few" "-x 0 $few" "-Q 1 $few" "-S 1 $few" "-N $few" "--report_gbits $few" "-u 16 $few")
for words in "${options[@]}"; do
	# shellcheck disable=SC2086
	run ib_send_bw $words
done
# shellcheck disable=SC2086
{
	run ib_send_lat -e $few
	run ib_read_lat -e $few
	run ib_send_lat -s 32 -I 64 $few
	run ib_write_bw -b -q 4 $few
}
if [ "${IBAL_TEST_LONG-0}" != 0 ]; then
	for test in send write read atomic; do
		for words in "${options[@]}"; do
			case "$test $words" in
			write*' -e '* | write*'-e '* | read*'-I '* | atomic*'-I '* | atomic*'-a '* | atomic*'-s '* | atomic*'-l '* | send*) continue ;;
			*'-r 32'*) continue ;; # a receive queue is the send tests'
			esac
			# shellcheck disable=SC2086
			run ib_${test}_bw $words
		done
	done
fi
passed
