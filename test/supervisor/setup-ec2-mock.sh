#!/usr/bin/env bash
# Builds AWS's own mock of its metadata service, once, at a pinned version, into a cache outside of
# the tree. Prints its path. Needs Go and, the first time, a module proxy; about a minute on two
# cores. Nothing is done when it is there.
set -euo pipefail

bin="${HOLDFAST_CACHE:-$HOME/.cache/holdfast}/go-bin"
name=amazon-ec2-metadata-mock
version=v1.12.0
mkdir -p "$bin"
# Test files that start at the same time build once; the lock is this server's own, so that nobody
# waits for another one's build.
exec 9>"$bin/.$name.lock"
flock 9

# The version is part of the stamp, so that raising it here builds anew.
stamp="$bin/.$name-$version"
if [[ ! -x "$bin/$name" || ! -e "$stamp" ]]; then
  if ! command -v go >/dev/null; then
    printf '%s is not built, and Go is not installed\n' "$name" >&2
    exit 1
  fi
  printf 'building %s %s\n' "$name" "$version" >&2
  # Built from the module's own folder: only the pinned version is asked for, not what others there
  # are.
  source="$(cd / && go mod download -json "github.com/aws/$name@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')"
  (cd "$source" && nice go build -mod=readonly -o "$bin/.$name.new" ./cmd)
  mv "$bin/.$name.new" "$bin/$name"
  touch "$stamp"
fi

printf '%s\n' "$bin/$name"
