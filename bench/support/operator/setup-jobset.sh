#!/usr/bin/env bash
# Builds the manager of JobSet once, at a pinned version, and prints the folder that holds the
# program (`jobset`) and its kind (`jobsets.yaml`). The folder lies in a cache outside the tree. The
# first run needs Go and a module proxy, and takes minutes on two cores.
set -euo pipefail

version=v0.12.0
folder="${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast}/jobset-$version"
mkdir -p "$folder"
# The lock makes two processes that start at the same time build once.
exec 9> "$folder/.lock"
flock 9
if [[ ! -e $folder/complete ]]; then
  command -v go > /dev/null || { printf 'JobSet is not built, and Go is not installed\n' >&2; exit 1; }
  printf 'building JobSet %s\n' "$version" >&2
  # Out of the tree, so that no go.mod nearby is taken into account. In a copy of the module,
  # because `go install` wants to know of later versions, and the module cache is read-only.
  cd /
  source="$(GOFLAGS=-mod=mod go mod download -json "sigs.k8s.io/jobset@$version" | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')"
  rm -rf "$folder/source"
  cp -r --no-preserve=mode "$source" "$folder/source"
  (cd "$folder/source" && CGO_ENABLED=0 nice go build -trimpath -o "$folder/jobset" .)
  mv "$folder/source/config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml" "$folder/jobsets.yaml"
  rm -rf "$folder/source"
  touch "$folder/complete"
fi
printf '%s\n' "$folder"
