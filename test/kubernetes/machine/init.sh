#!/bin/sh
# The first process of the machine, which begins with the files of the machine below as a root that
# cannot be written: lays a layer over them that is thrown away, mounts the control groups as
# systemd does, and hands over to the command. `tools` and `exchange` are folders below, from the
# kernel's own command line.
set -e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
modules=$(echo "$tools"/usr/lib/uml/modules/*)
for module in fs/overlayfs/overlay drivers/block/loop; do "$tools/bin/busybox" insmod "$modules/kernel/$module.ko"; done

mount -t tmpfs tmpfs /tmp
mkdir /tmp/scratch /tmp/root
mount -t ext4 /dev/ubda /tmp/scratch
mkdir /tmp/scratch/upper /tmp/scratch/work
mount -t overlay -o lowerdir=/,upperdir=/tmp/scratch/upper,workdir=/tmp/scratch/work overlay /tmp/root
cd /tmp/root
mkdir -p below
pivot_root . below
cd /

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
for name in fd: stdin:/0 stdout:/1 stderr:/2; do ln -s "/proc/self/fd${name#*:}" "/dev/${name%:*}"; done
mount -t cgroup2 -o nsdelegate,memory_recursiveprot cgroup2 /sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/machine /lib/modules
mount -t hostfs -o "$exchange" none /run/machine
mount --bind "${modules%/*}" /lib/modules
umount --lazy --recursive /below

# This kernel tells nothing of its one processor, and a kubelet does not start where it cannot read
# about any.
processor=/sys/devices/system/cpu
mount -t tmpfs -o mode=755 tmpfs "$processor"
mkdir -p "$processor/cpu0/topology" "$processor/cpu0/cache" "$processor/cpu0/cpufreq"
for name in online possible present cpu0/topology/core_id cpu0/topology/physical_package_id; do echo 0 > "$processor/$name"; done
echo 2000000 > "$processor/cpu0/cpufreq/cpuinfo_max_freq"

# What the kernel itself loads later: the machine below may have no program for it.
cp "$tools/bin/busybox" /run/busybox
ln -s busybox /run/modprobe
echo /run/modprobe > /proc/sys/kernel/modprobe
hostname machine
ip link set lo up
exec env -i /bin/sh /run/machine/command
