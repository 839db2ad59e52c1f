#!/bin/sh
# Compiles crc32c.c into the folder given, or beside it, where there is a processor and a compiler for it. Nothing depends on it: without the
# file the package @node-rs/crc32 computes the same, four times as slowly (docs/adr/0033-own-crc32c.md).
set -eu
source=$(cd -- "$(dirname -- "$0")" && pwd)
out=${1:-$source}/crc32c-linux-x64.node
compiler=${CC:-cc}
[ "$(uname -sm)" = 'Linux x86_64' ] && command -v "$compiler" >/dev/null || exit 0
if "$compiler" -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -nostdlib -shared -s -o "$out.$$" "$source/crc32c.c"; then
  mv -- "$out.$$" "$out"
else
  rm -f -- "$out.$$"
  echo 'holdfast: native/crc32c.c was not compiled; checksums come from @node-rs/crc32, and are slower' >&2
fi
