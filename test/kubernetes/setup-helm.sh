#!/usr/bin/env bash
# Builds Helm once, at a pinned version, and prints the program. It lies in a cache outside the
# tree. The first run needs Go and a module proxy, and takes minutes on two cores.
set -euo pipefail

version=v3.22.0
bin="${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast}/helm-$version"
mkdir -p "$bin"
# The lock makes two tests that start at the same time build once.
exec 9> "$bin/.lock"
flock 9
if [[ ! -x $bin/helm ]]; then
  command -v go > /dev/null || { printf 'helm is not built, and Go is not installed\n' >&2; exit 1; }
  printf 'building helm %s\n' "$version" >&2
  # Out of the tree, so that no go.mod nearby is taken into account. Under another name first, so
  # that a killed build never looks complete.
  (cd / && GOBIN="$bin/unfinished" GOFLAGS=-mod=mod CGO_ENABLED=0 nice go install "helm.sh/helm/v3/cmd/helm@$version")
  mv "$bin/unfinished/helm" "$bin/helm"
fi
printf '%s\n' "$bin/helm"
