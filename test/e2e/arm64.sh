#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The tree builds for arm64 without a warning, and its unit tests pass there, under qemu-user. (make check-long; it builds
# the whole tree.) The cross compiler, qemu-user and the arm64 libraries are Debian's. They are unpacked in a directory of
# this build, arm64/, where they stay for the next run, so that the machine's own packages stay as they are and nobody
# needs to be root.
set -eu

# A separate make, which does not get the outer make's command line (its TESTS).
unset MAKEFLAGS MFLAGS MAKELEVEL TESTS TEST_LOGS
source=${top_srcdir:?is set by make check}
place=${top_builddir:?is set by make check}/arm64
sysroot=$place/sysroot
tools=$place/tools

skip() {
	echo "skipped: $*"
	exit 77
}

case $(uname -m) in
x86_64) ;;
aarch64) skip "this machine is an arm64 itself, where make check runs the same tests" ;;
*) skip "Debian has its cross compiler and qemu for x86-64, and this machine is $(uname -m)" ;;
esac
for program in apt-get dpkg dpkg-deb; do
	command -v "$program" >/dev/null || skip "the packages are Debian's, and this machine has no $program"
done

# ---- packages ----------------------------------------------------------------------------------

# The development packages of the libraries, from the one list of what a build needs.
libraries() { sed -n 's/^build *| *\([^ ]*\) *| *library .*/\1/p' "$source/quickstart"; }

# apt with state of its own. Its arguments: ARCHITECTURE STATUS apt-get's...
fetch() {
	local arch=$1 status=$2
	shift 2
	apt-get -q -y -o Dir::State="$place/apt" -o Dir::State::lists="$place/apt/lists" -o Dir::State::status="$status" \
		-o Dir::Cache="$place/apt/$arch" -o APT::Architecture="$arch" -o APT::Architectures::="$arch" \
		-o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=2 -o Debug::NoLocking=1 "$@"
}

# fetch_packages ARCHITECTURE STATUS DIRECTORY PACKAGE...: unpacks the packages and what they need beyond STATUS.
fetch_packages() {
	local arch=$1 status=$2 to=$3 package
	shift 3
	mkdir -p "$to" "$place/apt/$arch/archives/partial" "$place/apt/lists/partial"
	fetch "$arch" "$status" update >"$place/apt.log" 2>&1 ||
		skip "Debian's archive can not be reached: $(grep -m 1 '^[EW]:' "$place/apt.log" || echo 'apt-get update failed')"
	fetch "$arch" "$status" --no-install-recommends --download-only install "$@" >"$place/apt.log" 2>&1 ||
		skip "Debian's archive does not give $*: $(grep -m 1 '^E:' "$place/apt.log" || tail -n 1 "$place/apt.log")"
	for package in "$place/apt/$arch/archives"/*.deb; do
		[ ! -e "$package" ] || dpkg-deb -x "$package" "$to"
	done
}

mkdir -p "$place/apt"
if [ ! -e "$place/complete" ]; then
	# Of the machine's packages only the cross compiler and qemu are missing; of arm64's all are.
	: >"$place/apt/nothing"
	fetch_packages amd64 /var/lib/dpkg/status "$tools" gcc-aarch64-linux-gnu qemu-user-static
	# shellcheck disable=SC2046 # a package in each word
	fetch_packages arm64 "$place/apt/nothing" "$sysroot" libc6-dev $(libraries)
	rm -rf "$place/apt"
	touch "$place/complete"
fi

# ---- build -------------------------------------------------------------------------------------

export PATH="$tools/usr/bin:$PATH" LD_LIBRARY_PATH="$tools/usr/lib/x86_64-linux-gnu"
export PKG_CONFIG_SYSROOT_DIR=$sysroot
export PKG_CONFIG_LIBDIR=$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig:$sysroot/usr/share/pkgconfig
command -v qemu-aarch64-static >/dev/null || skip "the machine has the package qemu-user-static without qemu-aarch64-static"

mkdir -p "$place/build"
cd "$place/build"
# C++ is for the tests of the headers only, which the plain build makes.
[ -e Makefile ] || "$source/configure" -q --host=aarch64-linux-gnu --enable-werror \
	CC="aarch64-linux-gnu-gcc --sysroot=$sysroot" CXX=false
make -s -j"$(nproc)" >make.log 2>&1 || { tail -n 40 make.log; exit 1; }

# ---- tests -------------------------------------------------------------------------------------

# What can not pass under qemu-user, each with its reason: test program | test function | reason.
impossible() {
	cat <<'END_OF_LIST'
hca/soft/port_test | guids_are_stable_in_a_process_and_differ_from_its_neighbour | it starts its own program, which the kernel does not take
ci/env_test | a_set_uid_program_has_none | it starts a set-uid copy of its own program, which the kernel does not take
ci/elf_flip_test | no_bit_of_the_program_headers_ends_the_process | a segment of terabytes, which the kernel refuses, ends qemu
al/verbs/mr_test | memory_that_is_not_there_is_an_invalid_address | qemu ignores MADV_POPULATE_READ and _WRITE, and says success
al/verbs/mr_test | memory_that_does_not_permit_the_access_is_an_invalid_address | qemu ignores MADV_POPULATE_READ and _WRITE, and says success
al/verbs/mr_test | memory_behind_the_end_of_its_file_is_an_invalid_address | qemu ignores MADV_POPULATE_READ and _WRITE, and says success
al/object/client_test | threads_that_wait_for_the_last_job_are_woken | /proc/self/task/N/syscall shows the machine's system calls and addresses, not the program's
al/library/library_test | its_threads_have_names_and_block_every_signal | /proc/self/task/N/status shows qemu's signals, some of which it keeps open for itself
al/agent/descriptor_test | a_user_beyond_his_share_sends_no_more_records | qemu gives recvmsg more room for control data than the program has, so MSG_PEEK takes the descriptors
END_OF_LIST
}

tests=$(make -s print-tests | grep -E '^test/(unit|fuzz)/' | grep -v -- '-user$\|-uvp$' | xargs)
status=0
# An instruction takes ten to thirty times as long as on the machine.
TEST_TIMEOUT_SCALE=10 make -s -k -j"$(nproc)" check TESTS="$tests" \
	LOG_COMPILER="$place/build/libtool --mode=execute qemu-aarch64-static -L $sysroot" >check.log 2>&1 || status=1
echo "$(grep -c '^PASS: ' check.log || :) test programs passed as a whole"

# Check's lines of a failed test: FILE:LINE:F:CASE:FUNCTION:N: MESSAGE
failed() { sed -nE 's/^[^ ]+:[0-9]+:[FE]:[^:]*:([^:]+):-?[0-9]+: .*/\1/p' "test/unit/$1.log" | sort -u; }

: >listed
while IFS='|' read -r program function reason; do
	read -r program <<<"$program"
	read -r function <<<"$function"
	echo "$program $function" >>listed
	if failed "$program" | grep -qxF "$function"; then
		echo "can not pass: $program: $function: under qemu-user,${reason}"
	else
		echo "FAILED: $program: $function passes under qemu-user: take it from the list in arm64.sh"
		status=2
	fi
done < <(impossible)

sed -nE 's/^(FAIL|ERROR): //p' check.log | sort -u >programs
[ -s programs ] || [ "$status" -ne 1 ] || { tail -n 40 check.log; exit 1; }
while read -r test; do
	program=${test#test/unit/}
	found=$(failed "$program")
	unlisted=$(grep -vxFf <(sed -n "s|^$program ||p" listed) <<<"$found" || :)
	[ -n "$found" ] && [ -z "$unlisted" ] && continue
	echo "FAILED: $test: ${unlisted:-it ended without a failed test}"
	tail -n 30 "$test.log"
	status=2
done <programs
[ "$status" -ne 2 ]
