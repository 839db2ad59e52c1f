#!/usr/bin/env bash
# Builds the object-store servers for the suite, once, at pinned versions. Prints their folder, a
# cache outside the tree. The first run needs Go and a module proxy, and takes several minutes on
# two cores. Later runs only print the folder.
set -euo pipefail

bin="${HOLDFAST_CACHE:-$HOME/.cache/holdfast}/go-bin"
mkdir -p "$bin"
# The lock makes test files that start at the same time build once.
exec 9>"$bin/.lock"
flock 9

# name, module, version
servers=(
  'versitygw github.com/versity/versitygw/cmd/versitygw v1.8.0'
  'fake-gcs-server github.com/fsouza/fake-gcs-server v1.56.1'
  'minio github.com/minio/minio v0.0.0-20260212201848-7aac2a2c5b7c'
)

for server in "${servers[@]}"; do
  read -r name module version <<<"$server"
  # The version is part of the stamp, so that raising it here builds anew.
  stamp="$bin/.$name-$version"
  if [[ -x "$bin/$name" && -e "$stamp" ]]; then continue; fi
  if ! command -v go >/dev/null; then
    printf '%s is not built, and Go is not installed\n' "$name" >&2
    exit 1
  fi
  printf 'building %s %s\n' "$name" "$version" >&2
  # Out of the tree, so that no go.mod nearby is taken into account.
  (cd / && GOBIN="$bin" GOFLAGS=-mod=mod nice go install "$module@$version")
  touch "$stamp"
done

printf '%s\n' "$bin"
