#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_run: the distribution's OpenSM and diagnostics, unmodified, on the HCAs and the switch of the user's own agent, as a user
# without rights. The agent is started once, is shared, and ends after its last program.
set -euo pipefail

export PATH=$PATH:/usr/sbin:/sbin
for tool in opensm ibstat ibnetdiscover smpquery saquery sminfo setpriv; do
	command -v "$tool" >/dev/null || {
		echo "$tool is not installed (./quickstart check installs it)"
		exit 77
	}
done

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"
build=$(realpath "$build")
run=$build/al/compat/al_run
mkdir own
tree 1 0 2 >star

# A test of root's becomes nobody.
as_user=()
if [ "$(id -u)" -eq 0 ]; then
	as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chown 65534:65534 own
fi
export XDG_RUNTIME_DIR=$tmp/own IBAL_MODULE_PATH=$build/hca/soft/.libs IBAL_SOFT="subnet=managed topology=$tmp/star" HOME=$tmp/own
unset IBAL_AGENT
al_run() { "${as_user[@]}" "$run" "$@"; }

# ---- what is refused -----------------------------------------------------------------------------

status_of() { al_run "$@" >said 2>&1 && echo 0 || echo $?; }
[ "$(status_of)" = 2 ] || wrong "no command"
[ "$(status_of --unknown ibstat)" = 2 ] || wrong "an unknown option"
[ "$(status_of --ca ibstat)" = 2 ] || wrong "--ca without a command"
[ "$(status_of --ca xyz ibstat)" = 2 ] || wrong "--ca xyz"
[ "$(status_of --ca 0x12345678123456789 ibstat)" = 2 ] || wrong "a GUID of 17 digits"
[ "$(status_of no-such-command)" = 127 ] || wrong "a command that is not there"
[ "$(status_of /etc/passwd)" = 126 ] || wrong "a file that is no program"
grep -qx 'al_run: /etc/passwd: this is no program that you may run' said || wrong "a file that is no program: $(cat said)"
[ "$(status_of /etc)" = 126 ] || wrong "a directory"
# shellcheck disable=SC2046 # 66 words
[ "$(status_of $(printf -- '--ca %d ' {1..33}) ibstat)" = 2 ] || wrong "33 HCAs"
grep -q 'at most 32 HCAs' said || wrong "33 HCAs: $(cat said)"
[ "$(status_of --help)" = 0 ] || wrong "--help"
[ ! -e "$XDG_RUNTIME_DIR/ibal/ald.socket" ] || wrong "an agent was started in vain"

[ "$(status_of --private --embedded true)" = 2 ] || wrong "two agents to choose from: $(cat said)"
[ "$(status_of --agent)" = 2 ] || wrong "--agent without a socket"
[ "$(status_of --agent= true)" = 2 ] || wrong "--agent with an empty socket"
[ "$(status_of --agent "$tmp/nowhere" true)" = 1 ] || wrong "--agent without an agent"
grep -q "^al_run: --agent $tmp/nowhere: no agent answers there" said || wrong "--agent without an agent: $(cat said)"
[ "$(status_of --shell true)" = 2 ] || wrong "--shell with a command"

# ---- programs that cannot be helped --------------------------------------------------------------

# is_told PROGRAM WORD: al_run says why the program has no HCAs of ibal's, and runs it.
is_told() {
	[ "$(status_of --embedded "$1")" = 0 ] || wrong "$1: $(cat said)"
	grep -q "^al_run: $1 cannot use the HCAs of ibal: .*$2" said || wrong "$1 is not told of: $(cat said)"
}
cp /bin/true "$tmp/own/rights"
chmod u+s "$tmp/own/rights"
is_told "$tmp/own/rights" 'set-uid'
echo 'int main(void) { return 0; }' | ${CC:-cc} -x c -static -o "$tmp/own/static" - && is_told "$tmp/own/static" 'linked statically'
[ "$(status_of --embedded /bin/true)$(cat said)" = 0 ] || wrong "a program that can be helped: $(cat said)"

# ---- HCAs of the process's own, and an agent of the command's own ------------------------------------

[ "$(status_of --embedded sh -c "[ \$IBAL_AGENT = off ] && exec $build/al_query ca")" = 0 ] || wrong "--embedded: $(cat said)"
[ ! -e "$XDG_RUNTIME_DIR/ibal/ald.socket" ] || wrong "an agent was started for --embedded"
private_is_gone() { [ -z "$(find "$XDG_RUNTIME_DIR/ibal" -name 'private.*' -print -quit)" ]; }
[ "$(status_of --private sh -c "$build/al_query clients && echo \$IBAL_AGENT")" = 0 ] || wrong "--private: $(cat said)"
private=$(tail -n 1 said)
[[ $private == "$XDG_RUNTIME_DIR"/ibal/private.* ]] || wrong "the private agent is at \"$private\""
until_true private_is_gone || wrong "the private agent stays: $(ls "$XDG_RUNTIME_DIR/ibal")"
[ "$(status_of --private sh -c 'exit 7')" = 7 ] || wrong "the exit status is not the command's"
"${as_user[@]}" "$run" --private sleep 100 &
sleeper=$!
until_true grep -qz '^sleep$' "/proc/$sleeper/cmdline" || wrong "the command does not begin"
kill "$sleeper"
wait "$sleeper" && wrong "a signal does not reach the command"
until_true private_is_gone || wrong "the private agent outlives a command that was killed"
[ "$(SHELL=$(command -v true) status_of --private --shell)" = 0 ] || wrong "--shell: $(cat said)"

# ---- devices, and one agent for all ---------------------------------------------------------------

# Two at once: one of them starts the agent.
al_run ibstat -l >one 2>one.err &
al_run ibstat -l >other 2>other.err
wait $! || wrong "ibstat -l: $(cat one.err)"
cmp one other || wrong "two agents"
# The names are those of libibverbs: programs take a name from one library to the other.
[ "$(cat one)" = $'soft0\nsoft1' ] || wrong "two devices are not: $(cat one)"
agent=$(pgrep -f -- "ald --socket $XDG_RUNTIME_DIR/ibal/ald.socket") || wrong "there is no agent"
jobs+=("$agent")
[ "$(wc -w <<<"$agent")" = 1 ] || wrong "more agents than one: $agent"
[ "$(stat -c %a "$XDG_RUNTIME_DIR/ibal")" = 700 ] || wrong "the directory is open to others"

guid_of() { al_run ibstat "$1" | sed -n 's/^.*Node GUID: 0x//p'; }
first=$(guid_of soft0)
second=$(guid_of soft1)
al_run --ca "0x$second" ibstat -l >said
[ "$(cat said)" = soft1 ] || wrong "--ca: $(cat said)"
al_run --ca "$second" --ca="$first" ibstat -l >said
cmp one said || wrong "--ca twice: $(cat said)"
al_run --ca "$first" --ca 99 ibstat -l >said 2>err
[ "$(cat said)" = soft0 ] || wrong "--ca of one that is not there: $(cat said)"
grep -q -- '--ca 0x0000000000000099: there is no such HCA or switch' err || wrong "--ca of one that is not there: $(cat err)"
[ "$(wc -l <err)" = 1 ] || wrong "more than one line: $(cat err)"
al_run true || wrong "a command that is the shell's own, too"

al_run ibstat >said
[ "$(grep -c 'State: Initializing' said)" = 2 ] || wrong "ports wait for a subnet manager: $(cat said)"
grep -q "Node GUID: 0x$first" said || wrong "the node GUID: $(cat said)"
al_run smpquery -D nodeinfo 0 >said
grep -qE "^Guid:\.*0x$first$" said || wrong "smpquery: $(cat said)"

# The agent stays for a command that uses no HCA yet.
tr '\0' ' ' <"/proc/$agent/cmdline" | grep -qF -- "--busy-lock $XDG_RUNTIME_DIR/ibal/ald.users " || wrong "the agent looks at no lock"
is_free="flock -n $XDG_RUNTIME_DIR/ibal/ald.users true"
[ "$(status_of sh -c "! $is_free")" = 0 ] || wrong "a command holds no lock on its agent"
"${as_user[@]}" sh -c "$is_free" || wrong "a command that has ended holds a lock on its agent"

# An agent stays while the lock is held, and ends when it is not.
IBAL_LOG=debug "${as_user[@]}" "$build/ald" --socket "$XDG_RUNTIME_DIR/lock.socket" --exit-when-idle 1 \
	--busy-lock "$XDG_RUNTIME_DIR/lock" >lock.out 2>&1 &
locked=$!
jobs+=("$locked")
until_true grep -q '^ald: serving' lock.out || wrong "ald: $(cat lock.out)"
exec 5<"$XDG_RUNTIME_DIR/lock"
flock -s 5
IBAL_AGENT=$XDG_RUNTIME_DIR/lock.socket "${as_user[@]}" "$build/al_query" ca >/dev/null || wrong "ald does not serve"
looked_twice() { [ "$(grep -c "idle, and stays: a process holds a lock on $XDG_RUNTIME_DIR/lock" lock.out)" -ge 2 ]; }
until_true looked_twice || wrong "the agent has not looked twice: $(cat lock.out)"
exec 5>&-
wait "$locked" || wrong "the agent's status is $?: $(cat lock.out)"
jobs=("$agent")

# ---- settings that come too late -------------------------------------------------------------------

# warns PATTERN...: al_run has written these lines to the file err and, if there are any, a line with the way out.
warns() {
	local line=0 pattern
	for pattern; do
		line=$((line + 1))
		sed -n "${line}p" err | grep -qxE "al_run: $pattern" || wrong "\"$pattern\" is not line $line of: $(cat err)"
	done
	[ "$(wc -l <err)" = $((line + (line > 0))) ] || wrong "another number of lines: $(cat err)"
	[ $line = 0 ] || tail -n 1 err | grep -q "ends 5 seconds after its last program.*\"kill $agent\"" || wrong "no way out: $(cat err)"
}

al_run ibstat -l >said 2>err
warns
IBAL_FAULT='drop, n=3' IBAL_LOG=error IBAL_UVP_PATH=/none al_run ibstat -l >said 2>err
warns "IBAL_FAULT has no effect: your agent \\(process $agent\\) runs already, without it"
cmp one said || wrong "the program does not run: $(cat said)"
touch conf
IBAL_SOFT='hcas=2' IBAL_CONF=$tmp/conf al_run ibstat -l >said 2>err
warns "IBAL_CONF has no effect: .*, without it" "IBAL_SOFT has no effect: .*, with IBAL_SOFT=$IBAL_SOFT"
IBAL_FAULT='' al_run ibstat -l >said 2>err
warns
# The record is the agent's own, so it is right if its al_run is interrupted.
[ "$(cat "$XDG_RUNTIME_DIR/ibal/ald.pid")" = "$agent" ] || wrong "the record has another process"
# A record of an agent that has gone says nothing about this one.
cp "$XDG_RUNTIME_DIR/ibal/ald.pid" pid
echo $$ >"$XDG_RUNTIME_DIR/ibal/ald.pid"
IBAL_FAULT=drop al_run ibstat -l >said 2>err
warns
cp pid "$XDG_RUNTIME_DIR/ibal/ald.pid"

# ---- OpenSM ----------------------------------------------------------------------------------------

"${as_user[@]}" "$run" opensm >opensm.out 2>&1 &
opensm=$!
jobs+=("$opensm")
active() {
	al_run ibstat >said
	[ "$(grep -c 'State: Active' said)" = 2 ]
}
until_true active || wrong "OpenSM does not bring the ports up: $(cat said opensm.out)"
! grep 'no management agent' opensm.out || wrong "agents that answer are missed"
places=$XDG_RUNTIME_DIR/ibal/opensm-default.1
al_run ibnetdiscover >said
for device in "$first" "$second"; do
	grep -q "^Ca.*\"H-$device\"" said || wrong "ibnetdiscover: $(cat said)"
done
al_run saquery >said
[ "$(grep -c 'NodeRecord dump' said)" = 3 ] || wrong "saquery: $(cat said)"
kill "$opensm"
wait "$opensm" || :
[ -s "$places/opensm.log" ] || wrong "opensm has no log of its own"
! grep ' ERR ' "$places/opensm.log" || wrong "opensm's log has errors"

# Another one, on port 0 of the switch.
jobs=("$agent")
"${as_user[@]}" "$run" --ca 0x1000 opensm >opensm.out 2>&1 &
opensm=$!
jobs+=("$opensm")
is_manager() {
	al_run --ca 0x1000 sminfo >said
	grep -q 'sm guid 0x1000, .* SMINFO_MASTER' said
}
until_true is_manager || wrong "OpenSM does not run on the switch: $(cat said opensm.out)"
al_run --ca 0x1000 ibstat >said
[ "$(grep -cE "^Switch 'ib0000000000001000'|State: Active" said)" = 2 ] || wrong "ibstat of the switch: $(cat said)"
kill "$opensm"
wait "$opensm" || :
! grep ' ERR ' "$XDG_RUNTIME_DIR/ibal/opensm-1000.1/opensm.log" || wrong "the log of opensm on the switch has errors"

# ---- an al_run that is interrupted ------------------------------------------------------------------

# The agent begins, and its al_run goes: the next one finds the agent, and its record.
export XDG_RUNTIME_DIR=$tmp/own/second
"${as_user[@]}" mkdir "$XDG_RUNTIME_DIR"
"${as_user[@]}" "$run" sleep 60 >early.out 2>&1 &
early=$!
jobs+=("$early")
has_record() { [ -s "$XDG_RUNTIME_DIR/ibal/ald.pid" ]; }
until_true has_record || wrong "no record of the agent: $(cat early.out)"
kill -KILL "$early"
jobs=("$agent" "$(cat "$XDG_RUNTIME_DIR/ibal/ald.pid")")
IBAL_FAULT=drop al_run ibstat -l >said 2>err
cmp one said || wrong "after an interruption: $(cat said err)"
grep -q "IBAL_FAULT has no effect: your agent (process ${jobs[1]})" err || wrong "after an interruption: $(cat err)"
kill "${jobs[1]}"
jobs=("$agent")

# The agent does not listen yet: the next al_run waits for it, and starts no second one.
export XDG_RUNTIME_DIR=$tmp/own/slow
"${as_user[@]}" mkdir -p -m 700 "$XDG_RUNTIME_DIR/ibal"
mkfifo -m 666 gate
# shellcheck disable=SC2016 # for that shell
"${as_user[@]}" sh -c 'read -r _ <gate; exec "$0" "$@"' "$build/ald" --socket "$XDG_RUNTIME_DIR/ibal/ald.socket" --exit-when-idle 5 \
	>slow.out 2>&1 &
slow=$!
jobs=("$agent" "$slow")
"${as_user[@]}" sh -c "echo $slow >'$XDG_RUNTIME_DIR/ibal/ald.pid'"
al_run ibstat -l >said 2>err &
waiting=$!
looks() { ! "${as_user[@]}" flock -n "$XDG_RUNTIME_DIR/ibal/lock" true; }
until_true looks || wrong "al_run does not look for the agent: $(cat err)"
echo >gate
wait "$waiting" || wrong "an agent that begins late: $(cat said err slow.out)"
cmp one said || wrong "an agent that begins late: $(cat said err)"
[ "$(cat "$XDG_RUNTIME_DIR/ibal/ald.pid")" = "$slow" ] || wrong "a second agent was started: $(cat err)"
kill "$slow"
jobs=("$agent")

# ---- a subnet without management agents -----------------------------------------------------------

export XDG_RUNTIME_DIR=$tmp/own/third
"${as_user[@]}" mkdir "$XDG_RUNTIME_DIR"
IBAL_SOFT='hcas=2' "${as_user[@]}" "$run" opensm >opensm.out 2>opensm.err &
opensm=$!
jobs+=("$opensm")
until_true grep -q 'no management agent answers .* subnet=managed' opensm.err || wrong "no word of a static subnet: $(cat opensm.err opensm.out)"
kill "$opensm"
wait "$opensm" || :
jobs=("$agent" "$(cat "$XDG_RUNTIME_DIR/ibal/ald.pid")")
kill "${jobs[1]}"
jobs=("$agent")
export XDG_RUNTIME_DIR=$tmp/own

# ---- the end ---------------------------------------------------------------------------------------

gone() { ! kill -0 "$agent"; }
until_true gone || wrong "the agent does not end: $(cat "$XDG_RUNTIME_DIR/ibal/ald.log")"
jobs=()
[ ! -e "$XDG_RUNTIME_DIR/ibal/ald.socket" ] || wrong "the agent has left its socket"
passed
