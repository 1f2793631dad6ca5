#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Unmodified verbs programs on a bad cable (al_run --fault), and their packets in a file (al_run --capture): RC programs and
# libfabric's datagrams lose nothing to packets that are lost, doubled or late; UC and UD programs live with late packets, and
# end on SIGINT when a lost packet leaves them waiting; nothing of a command stays.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/verbs.sh
. "$top_srcdir/test/e2e/verbs.sh"
needs_programs ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ib_write_bw ib_read_bw fi_pingpong tshark setpriv
needs_plain_build
become_user

# Both ends of a program, run inside one al_run, since the agent with the faults is the command's own: SERVER-LINE CLIENT-LINE PORT.
# The status is that of both.
cat >own/both <<'END'
$1 >/dev/null &
server=$!
hex=$(printf '%04X' "$3")
until grep -hqE "^ *[0-9]+: [0-9A-F]+:$hex [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6; do
	kill -0 $server || exit 1
	sleep 0.02
done
status=0
$2 || status=1
wait $server || status=1
exit $status
END
is_gone() { [ -z "$(find own/ibal -name 'private.*' -print -quit 2>/dev/null)" ]; }

# on OPTION... -- SERVER-LINE CLIENT-LINE: both ends end well, and say nothing on standard error. %p in a line is the port.
on() {
	local words=() port
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	port=$(free_port)
	(al_run "${words[@]}" timeout "$(scaled 180)" bash own/both "${2//%p/$port}" "${3//%p/$port}" "$port") >out 2>err ||
		wrong "${words[*]}: $2: status $?: $(cat out err)"
	# perftest says this of an HCA whose vendor it does not know.
	! grep -v '^Device not recognized to implement inline feature' err >unexpected || wrong "${words[*]}: $2: $(cat unexpected)"
}
pingpong() { # TYPE RULES WORD...
	on --fault "$2" -- "ibv_$1_pingpong -d soft0 -p %p ${*:3}" "ibv_$1_pingpong -d soft1 -p %p ${*:3} 127.0.0.1"
	! grep -q 'invalid data' out || wrong "ibv_$1_pingpong with $2: $(cat out)"
}

# ---- reliable programs ---------------------------------------------------------------------------

for rules in 'drop,chance=2%' 'duplicate,chance=5%' 'reorder,chance=2%' 'drop,chance=1%; duplicate,chance=1%; delay,time=1ms,chance=2%'; do
	pingpong rc "$rules" -c -n 100
done
pingpong rc 'drop,chance=2%' -e -n 100 -s 20000
for test in write read; do
	on --fault 'drop,chance=1%' -- "ib_${test}_bw -F -d soft0 -p %p -n 100 -s 8192" "ib_${test}_bw -F -d soft1 -p %p -n 100 -s 8192 127.0.0.1"
done
fi='fi_pingpong -p verbs;ofi_rxd -e rdm -c -I 5 -S 4096'
# Not the last packets, after which the peer has gone.
on --fault 'drop,n=5,count=3; duplicate,chance=5%; reorder,n=12,count=2' -- "$fi -B %p -d soft0-dgram" "$fi -P %p -d soft1-dgram 127.0.0.1"

# ---- unreliable programs -------------------------------------------------------------------------

for type in uc ud; do
	# Messages of one packet, since a packet that another overtakes is lost to UC; and not the last packets, which a rule holds no longer than their queue pair lives.
	pingpong $type 'delay,time=1ms,n=1,count=10' -c -n 100 -s 1000
	# A third of the packets is lost: both ends wait for ever.
	port=$(free_port)
	"${as_user[@]}" "$run" --fault 'drop,chance=30%' bash own/both "ibv_${type}_pingpong -d soft0 -p $port" \
		"ibv_${type}_pingpong -d soft1 -p $port 127.0.0.1" "$port" >out 2>err &
	waiting=$!
	jobs=("$waiting")
	clients() { pgrep -f "^ibv_${type}_pingpong .*-p $port" | wc -l; }
	until_true sh -c "pgrep -f '^ibv_${type}_pingpong .*-p $port 127' >/dev/null" || wrong "ibv_${type}_pingpong does not begin: $(cat out err)"
	for pid in $(pgrep -f "^ibv_${type}_pingpong .*-p $port"); do
		kill -INT "$pid" 2>/dev/null || true
		kill -TERM "$pid" 2>/dev/null || true # a background process of a script takes no SIGINT
	done
	! wait "$waiting" || wrong "ibv_${type}_pingpong does not miss its packets"
	jobs=()
	[ "$(clients)" = 0 ] || wrong "a process stays"
done
until_true is_gone || wrong "an agent stays: $(ls own/ibal)"

# ---- captures ------------------------------------------------------------------------------------

on --capture own/run.pcapng -- 'ibv_rc_pingpong -d soft0 -p %p -n 50 -s 1000' 'ibv_rc_pingpong -d soft1 -p %p -n 50 -s 1000 127.0.0.1'
count() { tshark -r own/run.pcapng -Y "$1" 2>/dev/null | wc -l; }
sends=$(count 'infiniband.bth.opcode == 4')
[ "$sends" -ge 100 ] || wrong "the capture has $sends messages, not 100"
[ "$(count 'infiniband.bth.opcode == 17')" -ge 1 ] || wrong "the capture has no acknowledgement"
status=0
(al_run --capture own/run.pcapng sh -c 'exit 7') || status=$?
[ $status -eq 7 ] || wrong "the status with --capture is $status"
status=0
(al_run --capture own/run.pcapng sh -c 'kill -TERM $$') 2>/dev/null || status=$?
[ $status -eq 143 ] || wrong "the status of a killed command is $status"

# ---- what is wrong -------------------------------------------------------------------------------

refused() { # PATTERN WORD...
	local status=0
	(al_run "${@:2}" true) >out 2>&1 || status=$?
	[ $status -eq 2 ] || wrong "${*:2}: status $status"
	grep -q "$1" out || wrong "${*:2}: $(cat out)"
}
refused 'a fault begins with one of drop' --fault 'lose'
refused 'for an agent of the command.s own' --fault 'drop' --agent "$tmp/nowhere"
refused 'must be a file that you may write' --capture /nowhere/file
refused 'without blanks, quotes and brackets' --capture 'a file'
passed
