#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_query qp, cq, mr, pd and --where on the objects of a program that is at work, whose name has a control character
# and a character of four bytes: the agent shows a question mark for each byte of these.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"

start_agent
# A pipe that nobody reads stops the program in the middle.
mkfifo pipe
head -c 8000000 </dev/zero | tr '\0' x >in
name=$'a\t\xf0\x9f\x98\x80"b'
cp "$build/.libs/al_cp" "./$name"
LD_LIBRARY_PATH=$build/.libs "./$name" --chunk 64K --window 4 in pipe 2>err &
pid=$!
jobs+=("$pid")
exec 3<pipe
is_held() {
	query 0 qp --json
	is_so "[o['state'] for o in a['objects']] == ['RTS'] * 2 and any(o['recv_outstanding'] < 5 for o in a['objects'])"
}
until_true is_held || wrong "the copy is not under way: $(cat out err)"

# ---- queue pairs -----------------------------------------------------------------------------------

query 0 qp --json
json "all(o['type'] == 'qp' and o['qp_type'] == 'RC' and o['path_mtu'] == 4096 for o in a['objects'])"
json "[o['qpn'] for o in a['objects']] == [o['peer_qpn'] for o in reversed(a['objects'])]"
json "sorted(o['peer_lid'] for o in a['objects']) == [1, 2] and sorted(o['ca'] for o in a['objects']) == [0, 1]"
json "all(o['send_depth'] == 10 and o['recv_depth'] == 5 and o['send_outstanding'] <= 10 and 0 < o['recv_outstanding'] <= 5 for o in a['objects'])"
json "all(o['retry_cnt'] == 7 and o['retries_left'] == 7 and o['rnr_retry'] == 0 and o['rnr_retries_left'] == 0 for o in a['objects'])"
json "all(o['pid'] == $pid and o['uid'] == $(id -u) and o['user'] == '$(id -un)' for o in a['objects'])"
json "all(o['command'] == 'a?????\"b' for o in a['objects'])"
json "all(o['parent_type'] == 'pd' for o in a['objects'])"
json "all(o['failed'] == 0 and 'failed_status' not in o for o in a['objects'])"
query 0 qp
says '^Id +HCA +State +QPN +Type +Port +Peer +Peer QPN +MTU +Sends +Receives +Retries +RNR +Failed +Last failure +In +Users +PID +User +Command +Age$'
says " RTS +0x[0-9a-f]+ +RC +1 +[12] +0x[0-9a-f]+ +4096 +[0-9]+/10 +[0-9]/5 +7/7 +0/0 +0 +- +pd 0x[0-9a-f]+ .* a\\?{5}\"b"
# Each answer of --watch is one line.
query 0 qp --json --watch 0.01 --count 2
[ "$(wc -l <out)" = 2 ] || wrong "two answers are $(wc -l <out) lines: $(cat out)"
sed -i 1d out
json "a['command'] == 'qp' and [o['command'] for o in a['objects']] == ['a?????\"b'] * 2"
query 0 cq --json --where pid=1
json "a['objects'] == []"
# What stands behind that name is in line with what stands behind the others.
query 0 res
[ "$(grep -c '"b ' out)" -ge 6 ] || wrong "res shows $(cat out)"

# ---- completion queues, memory, domains ---------------------------------------------------------------

query 0 cq --json
json "len(a['objects']) == 2 and all(o['cqe'] == 20 and o['used'] <= 20 and o['overflow'] == 'no' for o in a['objects'])"
json "all(o['armed'] in ('none', 'any', 'solicited') or o['armed'] and 'armed_code' in o for o in a['objects'])"
query 0 mr --json
json "sorted(o['access'] for o in a['objects']) == ['local-read', 'local-read,local-write,remote-write']"
json "sorted(o['access_code'] for o in a['objects']) == [0, 3]"
json "all(o['length'] > 4 * 65536 and o['lkey'].startswith('0x') for o in a['objects'])"
json "[('rkey' in o) for o in a['objects']] == [o['access_code'] != 0 for o in a['objects']]"
query 0 pd --json
json "len(a['objects']) == 2 and all(o['parent_type'] == 'ca' and o['users'] == 3 for o in a['objects'])"
query 0 ah

# ---- filters -----------------------------------------------------------------------------------------

query 0 mr --where access_code=3 --json
json "len(a['objects']) == 1"
rkey=$(sed -n 's/.*"rkey" : "\(.*\)".*/\1/p' out)
query 0 mr --where "rkey=$rkey" --json
json "len(a['objects']) == 1"
query 0 mr --where "rkey=$((rkey))" --json
json "len(a['objects']) == 1"
query 0 res --where "user=$(id -un)" --where "pid=$pid" --json
json "len(a['objects']) >= 8"
query 0 res --where user=nobody-is-called-so --json
json "a['objects'] == []"
query 0 qp --where port=1 --ca 1 --json
json "len(a['objects']) == 1"
query 1 qp --where port
complains "--where port: must be KEY=VALUE, where KEY is one of id type "
query 1 qp --where colour=red
complains "--where colour=red: must be KEY=VALUE"
query 1 port --where port=1
complains '--where means nothing to "port"'

# ---- names, for Prometheus and in JSON -----------------------------------------------------------------

query 0 prom
says "^ibal_client_resources\\{pid=\"$pid\",opening=\"1\",command=\"a\\?{5}\\\\\"b\",user=\"$(id -un)\",uid=\"$(id -u)\",resource=\"qps\"\\} 2\$"
query 0 clients --json
json "any(c['command'] == 'a?????\"b' for c in a['clients'])"
for form in clients res qp; do
	query 0 $form
	grep -q $'\t' out && wrong "$form shows a control character: $(cat out)"
done

kill "$pid"
exec 3<&-
wait "$pid" || true
jobs=("$agent")
stop_agent
passed
