#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# test/tally counts each unit test once, with its result: checked with prepared logs.
set -euo pipefail

tally=${top_srcdir:?is set by make check}/test/tally
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0

# run NAME RESULT LINE...: a program or script with that result, whose log has those lines.
run() {
	local name=$1 result=$2
	shift 2
	mkdir -p "$tmp/test/unit"
	printf ':test-result: %s\n:global-test-result: %s\n:recheck: no\n' "$result" "$result" >"$tmp/test/unit/$name.trs"
	printf '%s\n' "$@" "$result test/unit/$name (exit status: 0)" >"$tmp/test/unit/$name.log"
}

checks() { echo "100%: Checks: $1, Failures: $2, Errors: $3"; }

# says STATUS LINE...: expects that tally prints exactly these lines for the runs since the last call, and that exit
# status.
says() {
	local wanted=$1 status=0
	shift
	"$tally" "$tmp" >"$tmp/out" || status=$?
	printf '%s\n' "$@" >"$tmp/wanted"
	if [ $status -ne "$wanted" ] || ! cmp -s "$tmp/out" "$tmp/wanted"; then
		echo "FAIL: status $status for $wanted, or these lines are not as they should be:"
		diff "$tmp/out" "$tmp/wanted" || :
		failures=$((failures + 1))
	fi
	rm -r "$tmp/test"
}

# each unit test, and each program or script without unit tests
run good_test PASS "Running suite(s): a" "$(checks 7 0 0)"
run two_suites_test PASS "$(checks 2 0 0)" "$(checks 3 0 0)"
run script PASS "all is well"
says 0 "13 passed, 0 failed"

# failures in a program's tests, and outside of them
run bad_test FAIL "$(checks 7 2 1)"
run crashed_test FAIL "Running suite(s): a"
run leaking_test FAIL "$(checks 5 0 0)" "==1== definitely lost"
says 1 "  FAILED: test/unit/bad_test (test/unit/bad_test.log)" \
	"  FAILED: test/unit/crashed_test (test/unit/crashed_test.log)" \
	"  FAILED: test/unit/leaking_test (test/unit/leaking_test.log)" "9 passed, 5 failed"

# a program that ran no test has not passed
run empty_test PASS "Running suite(s): a" "$(checks 0 0 0)"
run good_test PASS "$(checks 1 0 0)"
says 0 "  skipped: test/unit/empty_test: none of its tests ran" "1 skipped" "1 passed, 0 failed"

# programs that are skipped completely
run script SKIP "looking around" "SKIP: systemd-analyze is not installed"
run other SKIP "no git checkout"
run silent SKIP
run good_test PASS "$(checks 1 0 0)"
says 0 "  skipped: test/unit/other: no git checkout" "  skipped: test/unit/script: systemd-analyze is not installed" \
	"  skipped: test/unit/silent: no reason given" "3 skipped" "1 passed, 0 failed"

# a unit test that prints its skip and returns is one of those that Check counts
run user_test PASS "Running suite(s): a" "SKIP another_users_keys_open_nothing: needs root to become another user" "$(checks 4 0 0)"
says 0 "  skipped: test/unit/user_test: another_users_keys_open_nothing: needs root to become another user" \
	"1 skipped" "3 passed, 0 failed"
run all_test PASS "SKIP a_b: needs root" "SKIP c_d: needs root" "$(checks 2 0 0)"
says 1 "  skipped: test/unit/all_test: a_b: needs root" "  skipped: test/unit/all_test: c_d: needs root" \
	"2 skipped" "0 passed, 0 failed"

# skipped parts of tests that otherwise ran
run part_test PASS "SKIP the 4 tests of fork: the sanitizer does not survive one" "$(checks 4 0 0)"
run script PASS "SKIP: what another user sees: needs root to become one"
says 0 "  skipped: test/unit/part_test: the 4 tests of fork: the sanitizer does not survive one" \
	"  skipped: test/unit/script: what another user sees: needs root to become one" "2 skipped" "5 passed, 0 failed"

# nothing at all
mkdir -p "$tmp/test"
says 1 "0 passed, 0 failed"

[ $failures -eq 0 ]
