#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_query port up|down: of the agent's ports, by who may manage.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"

export IBAL_SOFT="subnet=managed [hca 0] guid=0x0200000000000100 [hca 1] guid=0x0200000000000200"
start_agent

# is PORTS: the states of the two ports.
is() {
	query 0 port --json
	is_so "[p['phys_state'] for p in a['ports']] == $1"
}

is "['LinkUp', 'LinkUp']" || wrong "the ports begin as $(cat out)"
query 0 port down --ca 0x0200000000000100 --port 1 --json
json "[p['phys_state'] for p in a['ports']] == ['Disabled'] and 'errors' not in a"
until_true is "['Disabled', 'Polling']" || wrong "both ends show $(cat out)"
query 0 port up --ca 0 --port 1
until_true is "['LinkUp', 'LinkUp']" || wrong "after up both ends show $(cat out)"

query 2 port up --ca 0 --port 9
complains 'port 9: it cannot be brought up: '
if [ "$(id -u)" = 0 ]; then
	other=(setpriv --reuid 65534 --regid 65534 --clear-groups env "IBAL_AGENT=$IBAL_AGENT")
	status=0
	"${other[@]}" "$build/al_query" port down --ca 0 --port 1 >out 2>err || status=$?
	[ $status -eq 2 ] || wrong "another user: exit status $status: $(cat out err)"
	complains 'it cannot be brought down: ald gives you no right to manage'
	is "['LinkUp', 'LinkUp']" || wrong "another user has changed $(cat out)"
else
	echo "SKIP: a user without the right to manage (only root can be two users)"
fi
stop_agent

# A static subnet's ports have no agent there.
export IBAL_SOFT='' IBAL_AGENT=off
query 2 port down --ca 0 --port 1
complains 'no subnet management agent'
passed
