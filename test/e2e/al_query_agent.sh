#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_query's view of an agent: its clients and users, by the rights of the caller; and the messages of al_query and its
# doctor if the agent is missing, stale, another user's or of another version.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
export IBAL_AGENT=$tmp/socket

# settled EXPRESSION WORDS...: waits until the expression holds, since the client before may not have ended yet.
settled() {
	local good=$1
	shift
	for _ in $(seq 300); do
		query 0 --json "$@"
		! is_so "$good" || return 0
	done
	wrong "not so: $good in $(cat out)"
}

# start MODE COMMAND...: starts an agent, and waits until the agent serves.
start() {
	local mode=$1
	shift
	mkfifo said
	"$@" "$build/ald" --socket "$IBAL_AGENT" --drain 0 --mode "$mode" >said 2>ald.err &
	agent=$!
	jobs+=("$agent")
	read -r _ <said || wrong "ald does not start: $(cat ald.err)"
	rm said
}

stop() {
	kill "$agent"
	wait "$agent" || true
}

start 666 env

# ---- what is shown ------------------------------------------------------------------------------

query 0
says '^HCA 0 '
says '^ *PID +User +Command'
query 0 clients
says ' al_query +6/6 +0/0'
says '^qps +4096 +-$'
settled "a['command'] == 'clients' and len(a['clients']) == 1 and a['clients'][0]['command'] == 'al_query' and
 a['clients'][0]['use']['qps'] == {'now': 0, 'high': 0, 'limit': 4096, 'refused': 0} and 'clients' not in a['clients'][0]['use'] and
 a['users'][0]['uid'] == $(id -u) and a['users'][0]['use']['clients']['limit'] is None and
 a['users'][0]['use']['clients']['now'] == 1 and a['users'][0]['use']['clients']['share'] == 1024 and
 a['users'][0]['use']['connections']['share'] is None" clients
query 0 clients
says "^$(id -un) +clients +1 +1024 +0$"
query 0 --json clients --pid 1
json "a['clients'] == [] and len(a['users']) == 1"
query 0 clients --pid 1
says 'No such client'
query 0 doctor
says '^ok +agent: ald at .* speaks our protocol'
IBAL_AGENT=off query 0 clients
says 'No agent serves this process'
IBAL_AGENT=off query 0 doctor
says '^ok +agent: none, as IBAL_AGENT'

# ---- the agent's faults -------------------------------------------------------------------------

query 0 fault list
says "There are no rules for the agent's HCAs"
stop
start 666 env IBAL_SOFT="topology=$(realpath "$top_srcdir")/doc/examples/small-tree.topology" \
	IBAL_FAULT='drop,n=3,hca=1; slow,switch=0x2c90300000100,port=3,rate=1GB; corrupt,switch=0x2c90300000100,chance=0; duplicate,hca=0,n=1,count=2'
"$build/al_perf" --from 0 --to 1 -t ud -l -n 4 -w 0 send >/dev/null || wrong "al_perf"
query 0 fault list
says "^Rules for the agent's HCAs and switches"
says '^0x[0-9a-f]{16} +2 +HCA 0: each of the 2 packets from number 1 on of each flow arrives twice'
says '^0x[0-9a-f]{16} +1 +HCA 1: packet 3 of each flow is lost'
says '^0x0002c90300000100 +- +switch 0x0002c90300000100: each packet by port 3 waits for the cable, which carries 1 GB per second'
query 0 --json fault list
json "a['agent'] and [r['met'] for r in a['in_force']][:4] == [2, 1, 0, 0] and a['in_force'][4]['met'] is None and
 a['in_force'][-1]['guid'] == '0x0002c90300001000' and a['in_force'][-1]['met'] is None and len(a['in_force']) == 8"
# Rules are compared with the agent's topology; without an agent, with that of the shell, which has none.
query 0 fault check 'drop,switch=0x2c90300000100,port=3'
says '^Compared with the HCAs and switches of the agent\.$'
query 1 --json fault check 'drop,switch=0x2c90300000100,port=9'
json "a['agent'] and len(a['errors']) == 1"
IBAL_AGENT=off query 1 fault check 'drop,switch=0x2c90300000100,port=3'
says "^Compared with the HCAs and switches of this shell's settings, since no agent can be asked\.$"
IBAL_AGENT=$tmp/none query 0 fault check 'drop'
says "^Compared with .* this shell's settings"
IBAL_AGENT=off query 0 fault list
says "There are no rules for this process's own HCAs"
IBAL_AGENT=$tmp/none query 2 fault list
query 1 fault list drop

# Other rules, while the agent runs; packets are counted anew.
query 1 fault set 'drop,n=1,hca=0; corrupt,switch=0x99'
complains 'fault set: at character .*: there is no such switch'
query 0 --json fault list
json "len(a['in_force']) == 8"
query 0 fault set 'drop,n=1,hca=0; mark,switch=0x2c90300000100,port=3,n=7'
says '^1\. HCA 0: packet 1 of each flow is lost'
"$build/al_perf" --from 0 --to 1 -t ud -l -n 4 -w 0 send >/dev/null || [ $? = 3 ] || wrong "al_perf"
query 0 --json fault list
json "[(r['met'] > 0, r['guid']) for r in a['in_force']] == [(True, a['in_force'][0]['guid']), (False, '0x0002c90300000100')]"
IBAL_FAULT='delay,time=1ms' query 0 --json fault set
json "len(a['rules']) == 1"
query 0 fault set ''
says '^There are no rules\.$'
query 0 --json fault list
json "not a['in_force']"
IBAL_AGENT=off query 2 fault set drop
complains 'there is no agent'
query 1 fault set
complains 'which rules'

# Cables and switches.
state() { # STATE: of the HCA's port
	"$build/al_query" --json port --ca 0x2c90300010000 | grep -q "\"state\" : \"$1\""
}
until_true state Active || wrong "the port is not Active"
query 0 fault pull --ca 0x2c90300010000 --port 1
says '^The cable is pulled\.$'
until_true state Down || wrong "the port of a pulled cable is not Down"
query 0 fault plug --ca 0x2c90300010000 --port 1
until_true state Active || wrong "the port of a cable that was plugged in is not Active"
query 1 fault reboot --ca 0x2c90300010000
complains 'no software HCA, or no switch'
query 1 fault pull --ca 0x2c90300010000 --port 9
complains 'there is no such port'
query 1 fault pull --ca 0x99 --port 1
complains 'there is no such HCA or switch'
query 1 fault pull --ca nobody --port 1
query 1 fault pull --port 1
complains 'al_query fault pull --ca GUID --port N'
query 1 fault reboot --ca 0x2c90300000100 --port 1
query 1 fault list --ca 0
IBAL_AGENT=off query 2 fault pull --ca 0 --port 1
query 1 fault reboot --ca 0x2c90300000100 # a static subnet's switches can not be opened
stop
start 666 env IBAL_SOFT="subnet=managed topology=$(realpath "$top_srcdir")/doc/examples/small-tree.topology"
until_true state Init || wrong "the port of a managed subnet is not Init"
query 0 fault pull --ca 0x2c90300000100 --port 1
until_true state Down || wrong "the port of a cable that was pulled at the switch is not Down"
query 0 --json fault plug --ca 0x2c90300000100 --port 1
until_true state Init || wrong "the port of a cable that was plugged in at the switch is not Init"
query 0 fault reboot --ca 0x2c90300000100
says '^The switch has lost'
until_true state Init || wrong "the port of a switch that was rebooted is not Init"
stop
start 666 env

# ---- somebody else ------------------------------------------------------------------------------

other() {
	setpriv --reuid 4321 --regid 4321 --clear-groups "$@"
}

if [ "$(id -u)" -ne 0 ]; then
	echo "SKIP: what another user sees: needs root to become one"
elif ! other test -x "$build/al_query" -a -r "$IBAL_MODULE_PATH"; then
	echo "SKIP: what another user sees: he can not get at the build directory"
else
	mkfifo lines
	"$build/al_query" --json --watch 0.05 clients >lines &
	watcher=$!
	jobs+=("$watcher")
	exec 3<lines
	read -r _ <&3 # it is connected, and stays as long as somebody reads
	other "$build/al_query" --json clients >out 2>err || wrong "another user: $(cat err)"
	json "[c['uid'] for c in a['clients']] == [4321] and [u['uid'] for u in a['users']] == [4321]"
	other "$build/al_query" fault check drop >out 2>err || wrong "rules of another user: $(cat err)"
	says "^Compared with .* this shell's settings" # the agent does not let the user test
	for words in 'set drop' 'pull --ca 0 --port 1'; do
		# shellcheck disable=SC2086 # several words
		! other "$build/al_query" fault $words >out 2>err || wrong "another user may: fault $words"
		complains 'demands the right test'
	done
	settled "len(a['clients']) == 2 and {u['uid'] for u in a['users']} == {0, 4321}" clients
	kill "$watcher"
	exec 3<&-

	stop
	start 600 env
	! other "$build/al_query" 2>err || wrong "the socket's mode lets another user in"
	complains 'with mode 600: you may not connect'
	other "$build/al_query" doctor >out && wrong "the doctor sees nothing wrong"
	says "^error +agent: socket .* is user 0's and group 0's with mode 600, and this is user 4321"

	stop
	mkdir theirs
	chown 4321 theirs
	IBAL_AGENT=$tmp/theirs/socket
	start 666 setpriv --reuid 4321 --regid 4321 --clear-groups # not the function, whose shell would be what is stopped
	query 2
	complains "the agent is user 4321's, neither root's nor yours, and not trusted"
	query 4 doctor
	says '^error +agent: ald at .* does not serve this program'
	IBAL_AGENT_USER=no-such-user query 2
	complains "agent_user is no-such-user, a user that this system does not know"
	IBAL_AGENT_USER=1234 query 2
	complains "the agent is user 4321's, neither root's nor yours, and not trusted"
	IBAL_AGENT_USER=4321 query 0 port
	printf '[ibal]\nagent_user = 4321\n' >trust.conf
	IBAL_CONF=$tmp/trust.conf query 0 port
	IBAL_CONF=$tmp/trust.conf IBAL_AGENT_USER=0 query 2 port
	stop
	IBAL_AGENT=$tmp/socket
	start 600 env
fi

# ---- an agent that is stopped --------------------------------------------------------------------

kill -STOP "$agent"
query 4 doctor
says '^error +agent: ald at .* does not answer'
says 'continue it, if it is stopped'
IBAL_AGENT_WAIT=1 query 2 port
complains 'the agent does not answer within 1 s'
kill -CONT "$agent"
query 0 port

# ---- watching on a terminal ---------------------------------------------------------------------

cat >terminal.py <<'END'
import os, pty, sys, termios
key, term = sys.argv[1].encode().decode("unicode_escape").encode(), sys.argv[2]
pid, fd = pty.fork()
if not pid:
    os.environ["TERM"] = term
    os.execv(sys.argv[3], sys.argv[3:])
before = termios.tcgetattr(fd)
seen = b""
while seen.count(b"Refused") < 4:  # twice each time
    seen += os.read(fd, 4096)
os.write(fd, key)
try:
    while os.read(fd, 4096):
        pass
except OSError:  # its end
    pass
status = os.waitpid(pid, 0)[1]
assert status == 0, status
assert (b"\033[2J" in seen) == (term != "dumb"), seen
END
for term in dumb xterm; do
	for key in q '\x03'; do
		python3 terminal.py "$key" $term "$build/al_query" --watch 0.05 clients || wrong "$term: $key does not end it"
	done
done

# ---- no agent -----------------------------------------------------------------------------------

kill -9 "$agent"
wait "$agent" 2>/dev/null || true
query 2
complains 'no agent listens: an ald that was killed has left the socket; start ald there, or set IBAL_AGENT=off'
query 4 doctor
says '^error +agent: socket .* is stale: no process listens there'
start 600 env # replaces it
query 0
stop
query 2
complains 'there is no such socket; start ald there'
query 4 doctor
says '^error +agent: socket .*: No such file'
touch socket
query 4 doctor
says '^error +agent: .*/socket is no socket'
rm socket

# An agent of another version: it answers as ald does, with its own version number.
mkfifo ready
python3 -c '
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
s.listen()
open("ready", "w").close()
while True:
    c = s.accept()[0]
    hello = c.recv(4096)
    c.send(struct.pack("=IIiI16s", *struct.unpack("=I", hello[:4]), 77, 1, 0, b"")) if hello else None
    c.close()
' "$IBAL_AGENT" &
jobs+=($!)
read -r _ <ready || true
query 2
complains 'the agent speaks protocol 77, this library [0-9]+: install both from one version'
query 4 doctor
says '^error +agent: ald at .* speaks another protocol'

passed
