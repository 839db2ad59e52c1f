#!/usr/bin/env bash
# Unpacks Debian's user-mode Linux (a kernel that is an ordinary program) and static busybox into
# the cache folder, and prints where. Nothing is installed. What is missing is named on standard
# error, with exit code 1.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
for tool in apt-get dpkg-deb; do
  command -v "$tool" > /dev/null && continue
  printf "the kernel comes as Debian's package user-mode-linux, and this machine lacks %s to unpack it\n" "$tool" >&2
  exit 1
done
"$here/../../support/setup-mount-tools.sh" user-mode-linux busybox-static
