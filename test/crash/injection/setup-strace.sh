#!/usr/bin/env bash
# Prints the path of an strace: the machine's own, or Debian's, unpacked into the cache folder
# without installing anything.
set -euo pipefail

if [[ -z ${HOLDFAST_OWN_STRACE:-} ]] && command -v strace; then exit 0; fi

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# libunwind is what strace is linked with beyond what every Debian has.
tools="$("$here/../../support/setup-mount-tools.sh" strace libunwind8)"
libraries=$(dirname "$(find "$tools" -name 'libunwind.so.8' -print -quit)")
printf '#!/bin/sh\nLD_LIBRARY_PATH="%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "%s" "$@"\n' "$libraries" "$tools/usr/bin/strace" > "$tools/strace.$$"
chmod +x "$tools/strace.$$"
mv "$tools/strace.$$" "$tools/strace"
printf '%s\n' "$tools/strace"
