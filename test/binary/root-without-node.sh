#!/bin/sh
# Runs a command as the first process of a root that has the C library, Python and nothing else: no
# Node.js, no shell, nothing writable but /data and /tmp, and /tmp may not execute. Called in a
# mount namespace of its own, so that nothing of it stays.
#   root-without-node.sh ROOT EXECUTABLE DATA PYTHON PYTHON_PREFIX USER ARGUMENT...
set -eu
root=$1 executable=$2 data=$3 python=$4 prefix=$5 user=$6
shift 6

mount -t tmpfs -o mode=755 tmpfs "$root"
mkdir -p "$root/usr" "$root/proc" "$root/dev" "$root/tmp" "$root/data" "$root/etc"
for folder in lib lib32 lib64; do
  if [ -d "/usr/$folder" ]; then
    mkdir -p "$root/usr/$folder"
    mount --bind -o ro "/usr/$folder" "$root/usr/$folder"
  fi
  if [ -L "/$folder" ]; then
    ln -s "usr/$folder" "$root/$folder"
  elif [ -d "/$folder" ]; then
    mkdir -p "$root/$folder"
    mount --bind -o ro "/$folder" "$root/$folder"
  fi
done
if [ "$prefix" != /usr ]; then
  mkdir -p "$root$prefix"
  mount --bind -o ro "$prefix" "$root$prefix"
fi
touch "$root/holdfast" "$root/python3"
mount --bind -o ro "$executable" "$root/holdfast"
mount --bind -o ro "$python" "$root/python3"
cp /etc/ld.so.cache "$root/etc/" 2>/dev/null || :
mount --bind "$data" "$root/data"
mount -t tmpfs -o mode=1777,noexec tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
touch "$root/dev/null" "$root/dev/urandom"
mount --bind /dev/null "$root/dev/null"
mount --bind /dev/urandom "$root/dev/urandom"
mount -o remount,ro "$root"
exec chroot --userspec="$user" "$root" "$@"
