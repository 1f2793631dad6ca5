#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_query as a user and a script run it: every subcommand in both forms, exit statuses, filters, and messages about
# missing objects. Tests that need objects or failing HCAs are in test/unit/al/tools/query_test.c.
set -euo pipefail

data=${top_srcdir:?is set by make check}/test/data
# shellcheck source=test/e2e/tools.sh
. "$top_srcdir/test/e2e/tools.sh"

# Two processes have the same GUIDs only if the GUIDs are set.
guid=0x0200000000000200
export IBAL_SOFT="[hca 0] guid=0x0200000000000100 [hca 1] guid=$guid"

# ---- every subcommand in both forms ------------------------------------------------------------

for command in ca port gid pkey counters caps res qp cq pci modules prom doctor; do
	query 0 $command
	[ -s out ] || wrong "$command shows nothing"
	[ ! -s err ] || wrong "$command complains: $(cat err)"
	grep -q $'\033' out && wrong "$command has colours where there is no terminal"
	query 0 --json $command
	json "a['schema'] == 1 and a['command'] == '$command' and 'errors' not in a"
done

query 0
cp out plain
query 0 ca
cmp -s out plain || wrong "\"al_query\" is not \"al_query ca\""
[ "$(wc -L <out)" -le 80 ] || wrong "the HCAs do not fit a terminal: $(cat out)"
says '^HCA 0  soft HCA 0$'
says 'module soft '
says '^ +1  Active +1  .*Gb/s.* InfiniBand  fe80::'

# Several HCAs; what asks one refuses several.
query 0 port --ca 0 --ca $guid --json
json "[p['ca'] for p in a['ports']] == [0, 1]"
query 0 ca -C 1 --json
json "[c['index'] for c in a['cas']] == [1]"
query 1 port --ca 0 --ca 7
complains 'there is no HCA "7"'
query 1 topology --ca 0 --ca 1
complains '--ca 1: "topology" asks one HCA, and --ca 0 was given before'

# The code of an event, and the end of what was there before.
query 0 events --json --count 20 --timeout 1
python3 - <<'END' || wrong "events says: $(cat out)"
import json
events = [json.loads(line) for line in open("out")]
assert events[0]["event"] == "HCA added" and events[0]["source"] == "pnp" and events[0]["code"] == 1
last = [e for e in events if e["event"] == "replay complete"]
assert len(last) == 1 and events.index(last[0]) == sum(e["replay"] for e in events) - 1
END

# A port goes down and comes up again.
query 1 port sideways --ca 0 --port 1
complains 'port sideways: must be up or down'
query 1 port down --port 1
complains 'port down needs one HCA by --ca and its port by --port'
query 1 port down --ca 0 --ca 1 --port 1
complains 'port down needs one HCA'
query 1 port down --ca 9 --port 1
complains 'there is no HCA "9"'

# ---- for Prometheus ------------------------------------------------------------------------------

if command -v promtool >/dev/null; then
	"$build/al_query" prom | promtool check metrics >said 2>&1 || wrong "promtool says: $(cat said)"
	[ ! -s said ] || wrong "promtool says: $(cat said)"
else
	echo "SKIP: the text for Prometheus (promtool is not installed: package prometheus)"
fi
(umask 022 && "$build/al_query" prom --output ibal.prom)
grep -q "^ibal_port_state{ca_guid=\"$guid\",port=\"1\",state=\"Active\"} 1\$" ibal.prom || wrong "a file for Prometheus: $(cat ibal.prom)"
[ "$(stat -c %a ibal.prom)" = 644 ] || wrong "a collector cannot read the file: $(stat -c %a ibal.prom)"
query 2 prom --output none/ibal.prom
complains '--output none/ibal.prom: .*name a file'

query 0 --json ca
json "[c['description'] for c in a['cas']] == ['soft HCA 0', 'soft HCA 1']"
json "all(len(c['ports']) == 1 and c['ports'][0]['state'] == 'Active' for c in a['cas'])"
json "all(len(c['guid']) == 18 and int(c['guid'], 16) > 0 for c in a['cas'])"
json "a['cas'][1]['guid'] == '$guid'"
query 0 --json port
json "[p['lid'] for p in a['ports']] == [1, 2]"
json "all(p['gid'].startswith('fe80::') and p['counters']['xmit_bytes'] == 0 for p in a['ports'])"
query 0 gid --json
json "[g['index'] for g in a['gids']] == [0, 0]"
query 0 pkey --json
json "[(p['pkey'], p['member']) for p in a['pkeys']] == [('0xffff', 'full')] * 2"
query 0 caps
[ "$(wc -L <out)" -le 80 ] || wrong "two HCAs' limits do not fit a terminal: $(cat out)"
query 0 caps --json
json "all(c['limits']['max_qp'] > 0 and c['caps']['rnr_nak'] for c in a['cas'])"
query 0 --json res
json "[(o['type'], o['command']) for o in a['objects']] == [('al', 'al_query')]"
json "{c['type'] for c in a['counts']} >= {'pd', 'mr', 'cq', 'qp'}"
query 0 --json modules
json "[m['name'] for m in a['modules']] == ['soft'] and a['modules'][0]['path'].endswith('/soft.so')"

# ---- filters -------------------------------------------------------------------------------------

for ca in 1 "$guid" "${guid#0x}" 'soft HCA 1'; do
	query 0 --json ca --ca "$ca"
	json "[c['index'] for c in a['cas']] == [1]"
done
query 0 --json port --port 1 --state active
json "len(a['ports']) == 2"
query 0 --json port --state Down
json "a['ports'] == []"
query 0 caps --diff 0 1
says 'can do the same'
IBAL_SOFT='[hca 1] max_qp=17' query 0 caps --diff 0 1
says '^queue pairs .* 17$'

# ---- again and again -----------------------------------------------------------------------------

query 0 --watch 0.01 --count 3 --json ca
[ "$(wc -l <out)" = 3 ] || wrong "--watch --count 3 --json is not three lines"
query 0 --watch=0.01 --count 2 port
[ "$(grep -c '^HCA' out)" = 2 ] || wrong "--watch --count 2 is not two tables"
query 0 events --timeout 60 --count 2
[ "$(wc -l <out)" = 2 ] || wrong "events --count 2 is not two lines"
query 0 events --timeout 0.2 --ca 1
says "$guid .*HCA added"
says "$guid  port 1 .*port active"
says 'replay complete'

# ---- the command line ----------------------------------------------------------------------------

query 1 frobnicate
complains 'no subcommand "frobnicate", but ca port gid'
query 1 --nonsense
complains '--help'
query 1 ca --ca 7
complains 'no HCA "7".*the 2'
query 1 port --port 9
complains 'no HCA has a port 9'
query 1 port --port 300
query 1 qp 5
complains 'no queue pair 5'
query 1 qp x
query 1 cq 0x1
query 1 res nonsense
query 1 res --type nonsense
query 1 port --state nonsense
query 1 qp --qpn 9-3
query 1 pci --port 1
complains '--port means nothing to "pci"'
query 1 ca --count 3
query 1 ca --watch 0
query 1 ca --watch nan
query 1 ca extra
complains 'too much after "ca": extra'
query 1 caps --diff 0
query 1 caps 0 1
query 0 --help
says 'doctor '
query 0 --version
says '^al_query [0-9]'

# ---- colour --------------------------------------------------------------------------------------

# The output goes to a file first: a grep that has found its text would end the terminal before the program.
on_terminal() {
	script -qec "$build/al_query ca" /dev/null </dev/null >out
	grep -q $'\033\[32mActive' out
}
TERM=xterm NO_COLOR='' on_terminal || wrong "no colour on a terminal"
TERM=xterm NO_COLOR=1 on_terminal && wrong "colour in spite of NO_COLOR"
TERM=dumb NO_COLOR='' on_terminal && wrong "colour on a dumb terminal"

# ---- where something is missing ------------------------------------------------------------------

mkdir empty
IBAL_MODULE_PATH=$tmp/empty query 0 ca
says 'No HCA is here. "al_query doctor"'
IBAL_MODULE_PATH=$tmp/empty query 4 doctor
says '^warning +module path: .*/empty .*has no module'
says '^error +HCAs: there is none'
says '-> .*soft\.so'
IBAL_MODULE_PATH=$tmp/none query 4 doctor
says "^error +module path: $tmp/none .*No such file"

# Wrong modules of every kind are listed with the reason, beside a module that works.
odd=$build/test/modules/odd/.libs
IBAL_MODULE_PATH=$odd:$IBAL_MODULE_PATH query 4 doctor
says '^error +module abi: .*/abi\.so'
says '^error +module nosymbol: '
says '^ok +module soft: '
says '^ok +HCA 0x'
IBAL_MODULE_PATH=$odd:$IBAL_MODULE_PATH query 0 --json modules
json "{m['name']: m['status'] for m in a['modules']}.items() >= {'abi': 'AL_MODULE_ABI', 'soft': 'AL_SUCCESS'}.items()"

# A wrong configuration: the library does not open, and doctor names the place.
printf '[ibal]\ncolour = blue\n' >conf
export IBAL_CONF=$tmp/conf
query 2 ca
complains 'cannot be opened.*doctor'
query 2 --json ca
json "len(a['errors']) == 1"
query 4 doctor
says '^error +library: .*does not open'
says '^error +message: .*/conf.*colour'
says '^note +configuration: .*/conf .*a setting is wrong'
query 4 doctor --json
json "a['worst'] == 'error'"
unset IBAL_CONF
IBAL_AGENT=$tmp/none query 2 ca
IBAL_AGENT=$tmp/none query 4 doctor

# Adapters without a module, and a bus that can not be read.
IBAL_PCI_DUMP=$data/pci/adapters.dump query 0 --json pci
json "len(a['pci']) > 2 and all(p['module'] is None and p['text'] for p in a['pci'])"
IBAL_PCI_DUMP=$data/pci/adapters.dump query 3 doctor
says '^warning +PCI bus: .*:'
IBAL_PCI_DUMP=$data/pci/no-adapter.dump query 0 pci
says 'No InfiniBand adapter'
IBAL_PCI_DUMP=$tmp/none query 2 pci
complains 'PCI bus cannot be read: .*/none'
IBAL_PCI_DUMP=$tmp/none query 0 ca
says 'soft HCA 1'

# ---- rules of faults ---------------------------------------------------------------------------

query 0 fault check 'drop,n=3,flow=request; delay,time=5ms,chance=1%'
says '^1\. packet 3 of each flow of requests is lost$'
says '^2\. .* arrives later by 5 ms, by a chance of 1 %$'
[ ! -s err ] || wrong "rules that are right are complained of: $(cat err)"
query 1 fault check 'drop; delay,time=5'
says '^1\. '
complains 'at character 18: time= is a number with its unit'
printf '  drop; delay,time=5\n                   ^\n' | cmp -s - <(tail -n 2 err) || wrong "no mark in: $(cat err)"
query 1 --json fault check 'drop,port=9;drop'
json "a['at'] == 10 and a['rules'] == [] and len(a['errors']) == 1"
IBAL_FAULT='drop,hca=9' query 1 fault check # which would keep the HCAs from starting
complains 'there is no such HCA'
IBAL_FAULT='drop' query 0 --json fault check
json "len(a['rules']) == 1 and 'errors' not in a"
query 0 fault check ''
says 'no rules'
query 1 fault check
complains 'IBAL_FAULT'
query 1 fault
complains 'fault check'
query 1 fault explain drop
query 1 fault check drop drop
query 1 fault check "$(printf 'drop;%.0s' {1..1000})"
complains 'too long'
IBAL_MODULE_PATH=$tmp query 2 fault check drop
complains 'doctor'
IBAL_FAULT=$(printf 'drop,n=%d;' {1..20}) query 0 --json fault list
json "not a['agent'] and [r['text'][:16] for r in a['in_force']][18:22] ==
 ['HCA 0: packet 19', 'HCA 0: packet 20', 'HCA 1: packet 1 ', 'HCA 1: packet 2 '] and len(a['in_force']) == 40"

passed
