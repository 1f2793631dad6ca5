#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# ald with the installed units under a running systemd: an instance of the test's own without other units, in namespaces
# and a control group of its own. Activation, the unprivileged user, other users' clients, reload, restart after a
# crash, and stop.
set -euo pipefail

build=${top_builddir:?is set by make check}
skip() {
	echo "SKIP: $*"
	exit 77
}
[ "$(id -u)" -eq 0 ] || skip "only root can start a systemd of its own"
for program in /lib/systemd/systemd unshare nsenter systemctl; do
	command -v $program >/dev/null || skip "$program is not installed"
done
[[ ${SANITIZE-} != *fsanitize* ]] || skip "the units' hardening leaves sanitizers no room"

tmp=$(mktemp -d)
chmod 755 "$tmp"
group=ibal-test-$$
hierarchies=() # where a control group of our own is
init=
finish() {
	local dir
	[ -z "$init" ] || kill -KILL "$init" 2>/dev/null || true # and with it all that it has started
	wait
	for dir in "${hierarchies[@]}"; do
		find "$dir" -depth -type d -exec rmdir {} \; 2>/dev/null || true
	done
	rm -rf "$tmp"
}
trap finish EXIT
failures=0
wrong() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

unset MAKEFLAGS MFLAGS MAKELEVEL # the outer make's, which has its own ideas
make -s -C "$build" install DESTDIR="$tmp/image" >"$tmp/install.log" 2>&1 || {
	cat "$tmp/install.log"
	exit 1
}
bin=$(dirname "$(find "$tmp/image" -path '*/bin/al_query')")
prefix=${bin%/bin}            # in the image
installed=${prefix#"$tmp/image"} # where the programs think that they are

# ---- a systemd that knows nothing but ald's units -------------------------------------------------

units=$tmp/units
mkdir "$units" "$tmp/empty"
cp "$(find "$tmp/image" -name ald.service)" "$(find "$tmp/image" -name ald.socket)" "$units"
for target in default sysinit basic sockets shutdown umount final multi-user; do
	printf '[Unit]\nDescription=%s\nDefaultDependencies=no\n' $target >"$units/$target.target"
done
# Files that are not installed permanently: the unit hides /tmp and home directories, where the image is. This systemd has no
# journal, so ald's log has a file.
mkdir "$units/ald.service.d"
cat >"$units/ald.service.d/image.conf" <<END
[Service]
BindReadOnlyPaths=$prefix:$installed
Environment=LD_LIBRARY_PATH=$installed/lib
StandardError=append:$tmp/ald.log
END

cat >"$tmp/begin" <<'END'
set -e
for dir in "${@:3}"; do
	echo $$ >"$dir/cgroup.procs"
done
exec unshare --mount --pid --uts --ipc --net --cgroup --fork --mount-proc --kill-child bash -c '
	set -e
	mount --make-rprivate /
	umount -R /sys/fs/cgroup
	mount -t tmpfs tmpfs /run
	mkdir /run/lock /run/image
	mount --bind "$1" /lib/systemd/system
	mount --bind "$2" /etc/systemd/system
	mount --bind "$2" /lib/systemd/system-generators
	# It leaves nothing behind: the directories into which it would write are its own, or not to be written.
	for dir in /etc /proc/sys; do
		mount --bind $dir $dir
		mount -o remount,bind,ro $dir
	done
	mount --bind "$3" /run/image
	for dir in /tmp /var; do
		mount -t tmpfs -o mode=1777 tmpfs $dir
	done
	mkdir -p "$3" /var/tmp
	mount --bind /run/image "$3"
	exec env -i container=test PATH="$PATH" /lib/systemd/systemd --system --log-target=console --show-status=no
' bash "$1" "$2" "$(dirname "$0")"
END
for dir in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do
	[ -e "$dir/cgroup.procs" ] && mkdir "$dir/$group" && hierarchies+=("$dir/$group")
done
bash "$tmp/begin" "$units" "$tmp/empty" "${hierarchies[@]}" >"$tmp/systemd.log" 2>&1 &
unshare=$!

inside() {
	nsenter -t "$init" --mount --pid --uts --ipc --net --cgroup "$@"
}
for _ in $(seq 600); do
	init=$(pgrep -P "$unshare" || true)
	[ -n "$init" ] && [ -S "/proc/$init/root/run/systemd/private" ] && break
	kill -0 "$unshare" 2>/dev/null || break
	sleep 0.05
done
if [ -z "$init" ] || ! inside systemctl --no-pager list-units >"$tmp/out" 2>&1; then
	skip "no systemd of the test's own starts here: $(tail -n 1 "$tmp/systemd.log" "$tmp/out" | tr '\n' ' ')"
fi

# ---- ald, from the first program to the end -------------------------------------------------------

export IBAL_MODULE_PATH=$prefix/lib/ibal/hca LD_LIBRARY_PATH=$prefix/lib
unset IBAL_AGENT IBAL_CONF
shows() { # UNIT PROPERTY
	inside systemctl show --value -p "$2" "$1"
}
# query STATUS COMMAND...
query() {
	local want=$1 status=0
	shift
	inside "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	[ $status -eq "$want" ] || wrong "$*: exit status $status, not $want: $(cat "$tmp/out" "$tmp/err")"
}
says() {
	grep -qE -- "$1" "$tmp/out" || wrong "\"$1\" is not in: $(cat "$tmp/out" "$tmp/err")"
}
as_other=(setpriv --reuid 4321 --regid 4321 --clear-groups)

inside systemctl start ald.socket
[ "$(shows ald.service ActiveState)" = inactive ] || wrong "ald runs before somebody wants it"
query 0 "$bin/al_query" clients
says '^ *[0-9]+ +root +al_query|^ *[0-9]+ +0 +al_query'
[ "$(shows ald.service ActiveState)" = active ] || wrong "ald does not run after the first program: $(cat "$tmp/systemd.log" "$tmp/ald.log")"
main=$(shows ald.service MainPID)
status=$(inside cat "/proc/$main/status")
grep -qE '^Uid:	[1-9]' <<<"$status" || wrong "ald runs as root"
grep -qE '^CapEff:	0+$' <<<"$status" || wrong "ald has capabilities"
query 2 "${as_other[@]}" "$bin/al_query" clients # SocketMode=0600

echo "Other users, when the administrator says so:"
mkdir -p "$units/ald.socket.d"
printf '[Socket]\nSocketMode=0666\n' >"$units/ald.socket.d/all.conf"
inside systemctl daemon-reload
inside systemctl stop ald.service ald.socket
inside systemctl start ald.socket
query 0 "${as_other[@]}" "$bin/al_query" clients
says '^ *[0-9]+ +4321 +al_query'
head -c 3000000 /dev/urandom >"$tmp/file"
mkdir -m 777 "$tmp/theirs"
inside "${as_other[@]}" "$bin/al_cp" --listen there "$tmp/theirs/copy" >"$tmp/listen" 2>&1 &
listener=$!
for _ in $(seq 600); do
	grep -q waiting "$tmp/listen" && break
	sleep 0.05
done
query 0 "${as_other[@]}" "$bin/al_cp" "$tmp/file" agent:there
wait "$listener" || wrong "al_cp --listen: $(cat "$tmp/listen")"
cmp "$tmp/file" "$tmp/theirs/copy" || wrong "the copy is another"

echo "Reload:"
mkdir -p "$prefix/etc"
printf '[ald client]\nqps = 77\n' >"$prefix/etc/ibal.conf"
# settled PATTERN: waits until the output of "al_query clients" matches, since a signal has no answer.
settled() {
	for _ in $(seq 600); do
		query 0 "$bin/al_query" clients
		! grep -qE "$1" "$tmp/out" || return 0
		sleep 0.05
	done
	says "$1"
}
inside systemctl reload ald.service
settled '^qps +77'
printf '[ald client]\nqps = many\n' >"$prefix/etc/ibal.conf"
inside systemctl reload ald.service
for _ in $(seq 600); do
	grep -q 'stays as it was' "$tmp/ald.log" && break
	sleep 0.05
done
grep -q 'stays as it was' "$tmp/ald.log" || wrong "a wrong ibal.conf is not refused: $(cat "$tmp/ald.log")"
settled '^qps +77'
[ "$(shows ald.service MainPID)" != "$main" ] || wrong "the service was stopped, and is the same"
rm "$prefix/etc/ibal.conf"

echo "After a crash:"
main=$(shows ald.service MainPID)
inside kill -KILL "$main"
for _ in $(seq 600); do
	now=$(shows ald.service MainPID)
	[ "$now" != "$main" ] && [ "$(shows ald.service ActiveState)" = active ] && break
	sleep 0.05
done
[ "$now" != "$main" ] || wrong "ald is not started anew"
query 0 "$bin/al_query" clients
says '^qps +4096'

echo "Stop:"
inside systemctl stop ald.service
[ "$(shows ald.service Result)" = success ] || wrong "the stop was no success: $(cat "$tmp/systemd.log" "$tmp/ald.log")"
inside systemctl stop ald.socket
! inside test -e /run/ibal/ald.socket || wrong "the socket stays"
[ $failures -eq 0 ] || {
	cat "$tmp/systemd.log" "$tmp/ald.log"
	exit 1
}
