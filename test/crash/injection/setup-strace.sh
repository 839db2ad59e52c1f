#!/usr/bin/env bash
# Prints the path of an strace: the machine's own, or Debian's, unpacked into the cache folder without installing anything.
set -euo pipefail

if [[ -z ${HOLDFAST_OWN_STRACE:-} ]] && command -v strace; then exit 0; fi

cache="${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast}/strace"
strace="$cache/root/usr/bin/strace"
if [[ ! -x $strace ]]; then
  mkdir -p "$cache"
  cd "$cache"
  # libunwind is what strace is linked with beyond what every Debian has.
  apt-get download strace libunwind8 >&2
  for package in ./*.deb; do dpkg-deb --extract "$package" root; done
fi
libraries=$(dirname "$(find "$cache/root" -name 'libunwind.so.8' -print -quit)")
printf '#!/bin/sh\nLD_LIBRARY_PATH="%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "%s" "$@"\n' "$libraries" "$strace" > "$cache/strace"
chmod +x "$cache/strace"
printf '%s\n' "$cache/strace"
