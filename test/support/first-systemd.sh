#!/bin/sh
# Becomes systemd as the first process of namespaces of its own, with the units of a folder and
# nothing else, in a control group of its own that it is told the name of. Called by `unshare
# --mount --pid --uts --fork --mount-proc`.
#   first-systemd.sh UNITS GROUP TARGET
set -eu
units=$1 group=$2 target=$3
groups=/sys/fs/cgroup
mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup2 "$groups"
mkdir "$groups/$group"
echo 0 > "$groups/$group/cgroup.procs"
exec unshare --cgroup sh -euc 'umount "$1"; mount -t cgroup2 cgroup2 "$1"; exec env -i PATH="$PATH" SYSTEMD_UNIT_PATH="$2" container=test "$3" --system --unit="$4" --log-target=console --log-level=warning --show-status=no' \
  sh "$groups" "$units" "$(command -v systemd || echo /lib/systemd/systemd)" "$target"
