#!/bin/sh
# Compiles what is written in C into the folder given, or beside it, where there is a processor and a
# compiler for it. Nothing that runs on this machine depends on it: without crc32c.c the package
# @node-rs/crc32 computes the same, four times as slowly (docs/adr/0033-own-crc32c.md). Without
# launch.c the operator's image cannot supervise the pods of a job (docs/operator.md).
set -eu
source=$(cd -- "$(dirname -- "$0")" && pwd)
out=${1:-$source}
compiler=${CC:-cc}
[ "$(uname -sm)" = 'Linux x86_64' ] && command -v "$compiler" >/dev/null || exit 0

# name of the source, name of the output, what it means that there is none; options
compile() {
  from=$1 to=$out/$2 loss=$3
  shift 3
  if "$compiler" -O2 -Wall -Wextra -Werror -nostdlib -s "$@" -o "$to.$$" "$source/$from"; then
    mv -- "$to.$$" "$to"
  else
    rm -f -- "$to.$$"
    echo "holdfast: native/$from was not compiled; $loss" >&2
  fi
}

compile crc32c.c crc32c-linux-x64.node 'checksums come from @node-rs/crc32, and are slower' -fPIC -fvisibility=hidden -shared
compile launch.c holdfast-launch-linux-x64 "an operator's image made here cannot supervise pods" \
  -ffreestanding -fno-stack-protector -fno-pie -no-pie -static
