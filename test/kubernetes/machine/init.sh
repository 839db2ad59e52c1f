#!/bin/busybox sh
# The first process of the machine: loads what the kernel needs, lays a layer that is thrown away over the files of the machine below, mounts the control
# groups as systemd does, and hands over to the command. `/below-settings` says where the exchange folder and the kernel's modules are down there.
set -e
export PATH=/bin
/bin/busybox --install -s /bin
. /below-settings
mkdir -p /proc /sys /dev /below /scratch /root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in /modules/*; do insmod "$module"; done

mount -t hostfs -o ro none /below
mount -t ext4 /dev/ubda /scratch
mkdir /scratch/upper /scratch/work
mount -t overlay -o lowerdir=/below,upperdir=/scratch/upper,workdir=/scratch/work overlay /root

mount -t proc proc /root/proc
mount -t sysfs sysfs /root/sys
mount -t devtmpfs devtmpfs /root/dev
mkdir -p /root/dev/pts /root/dev/shm
mount -t devpts -o mode=620,ptmxmode=666 devpts /root/dev/pts
mount -t tmpfs -o mode=1777 tmpfs /root/dev/shm
for name in fd: stdin:/0 stdout:/1 stderr:/2; do ln -s "/proc/self/fd${name#*:}" "/root/dev/${name%:*}"; done
mount -t cgroup2 -o nsdelegate,memory_recursiveprot cgroup2 /root/sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs /root/run
mkdir -p /root/run/machine /root/lib/modules
mount -t hostfs -o "$exchange" none /root/run/machine
mount --bind "/root$modules" /root/lib/modules

# This kernel tells nothing of its one processor, and a kubelet does not start where it cannot read about any.
processor=/root/sys/devices/system/cpu
mount -t tmpfs -o mode=755 tmpfs "$processor"
mkdir -p "$processor/cpu0/topology" "$processor/cpu0/cache" "$processor/cpu0/cpufreq"
for name in online possible present cpu0/topology/core_id cpu0/topology/physical_package_id; do echo 0 > "$processor/$name"; done
echo 2000000 > "$processor/cpu0/cpufreq/cpuinfo_max_freq"

# What the kernel itself loads later: the machine below may have none.
cp /bin/busybox /root/run/busybox
ln -s busybox /root/run/modprobe
echo /run/modprobe > /proc/sys/kernel/modprobe
hostname machine
ip link set lo up
exec switch_root /root /bin/sh /run/machine/command
