#!/bin/bash
# Boots the systemd of this machine as pid 1 of namespaces of its own, over an overlay of /, and prints "up PID ROOT" when
# it runs: its pid 1 and its root folder, as seen from outside. Each line on stdin boots it once more; the end of stdin takes it down.
# usage: machine.sh FOLDER_WITH_PROGRAMS. Root only.
set -euo pipefail
programs=$1 folder=$(mktemp -d) leader='' outer=''
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[[ -n $cgroups ]] || { echo 'no cgroup2 hierarchy is mounted' >&2; exit 1; }
group=$cgroups/watchbill-test.$$

ended() { for _ in {1..100}; do kill -0 "$outer" 2>/dev/null || return 0; sleep .1; done; return 1; }

down() {
    [[ -n $outer ]] || return 0
    # SIGRTMIN+14: power off at once (systemd(1)).
    [[ -z $leader ]] || kill -s SIGRTMIN+14 "$leader" 2>/dev/null || true
    ended || kill -9 "$leader" 2>/dev/null || true
    wait "$outer" || true
    leader='' outer=''
}

clean() {
    set +e
    down
    umount "$folder/root" "$folder"
    rmdir "$folder"
    find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null
}
trap clean EXIT

up() {
    (
        echo "$BASHPID" >"$group/cgroup.procs"
        exec unshare --pid --fork --mount --uts --ipc --cgroup --net bash "$folder/pid1" "$folder/root" "$programs"
    ) </dev/null >"$folder/console" 2>&1 &
    outer=$!
    for _ in {1..300}; do
        leader=$(pgrep -P "$outer" | head -n 1 || true)
        if [[ -n $leader ]] && nsenter -t "$leader" -a systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded'; then
            echo "up $leader $folder/root"
            return 0
        fi
        sleep .1
    done
    echo "systemd did not come up: $(tail -c 2000 "$folder/console")" >&2
    exit 1
}

mount -t tmpfs watchbill-test "$folder"
mkdir "$folder"/{upper,work,root} "$group"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
: >"$folder/root/etc/machine-id"
mkdir "$folder/root/opt/watchbill"
for name in watchbill heal synthesize-distress route-blocked budget-check board coord; do
    ln -sf "/opt/watchbill/$name" "$folder/root/usr/local/bin/$name"
done
cat >"$folder/pid1" <<'X'
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount --bind "$2" "$1/opt/watchbill"
cd "$1"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do touch dev/$name; mount --bind /dev/$name dev/$name; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs dev/shm
ln -s /proc/self/fd dev/fd
mount -t cgroup2 cgroup2 sys/fs/cgroup
mkdir -p .old
pivot_root . .old
umount -l /.old
exec /usr/bin/env -i container=watchbill-test /lib/systemd/systemd --log-target=null systemd.unit=basic.target
X
up
while read -r _; do
    down
    up
done
