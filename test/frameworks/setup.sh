#!/usr/bin/env bash
# Installs the real frameworks whose checkpoints the tests use, one virtual environment per family.
#
#   test/frameworks/setup.sh               every family that has a requirements-FAMILY.txt here
#   test/frameworks/setup.sh torch jax     these families
#   test/frameworks/setup.sh --find torch  installs nothing: only those that are there already
#
# Prints FAMILY=/path/to/python for each on stdout, progress on stderr.
#
# Everything goes below ${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-~/.cache}/holdfast}/frameworks, in
# FAMILY-HASH, where HASH covers the requirements file and the Python version: an edited file gets a
# fresh environment, an unchanged one costs nothing. An environment gets its name only once it is
# whole, and a lock per family lets several callers ask at once. A first line "# python: 3.11" in a
# requirements file names the interpreters to try, best first.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast}/frameworks

say() { echo "setup.sh: $*" >&2; }

# The path of the first interpreter whose version is among the arguments; pyenv's are found without
# its shims, which exist for every installed version and refuse to run all but the selected one.
find_python() {
  local version candidate
  for version in "$@"; do
    for candidate in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python3 python3; do
      if [ "$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$version" ]; then
        "$candidate" -c 'import sys; print(sys.executable)'
        return
      fi
    done
  done
  say "found none of Python $* (on PATH or among pyenv's versions)"
  return 1
}

install() { # FAMILY PYTHON TARGET
  local family=$1 python=$2 target=$3 building="$3.building" started=$SECONDS
  say "$family: installing with $("$python" --version) into $target"
  rm -rf "$building"
  "$python" -m venv "$building" >&2
  # DeepSpeed would compile CUDA operators; saving and loading on the CPU needs none of them.
  DS_BUILD_OPS=0 "$building/bin/python" -m pip install --quiet --disable-pip-version-check \
    -r "$here/requirements-$family.txt" >&2
  # Console scripts (torchrun, deepspeed) name their interpreter by path: make it the final one.
  { grep -rlIF "$building" "$building/bin" || true; } | xargs -r sed -i "s|$building|$target|g"
  mv "$building" "$target"
  say "$family: ready after $((SECONDS - started)) s, $(du -sh "$target" | cut -f1)"
}

ensure() { # FAMILY
  local family=$1 requirements="$here/requirements-$1.txt" wanted python version hash target
  [ -f "$requirements" ] || { say "no family '$family': $requirements does not exist"; return 2; }
  wanted=$(sed -n '1s/^# python: *//p' "$requirements")
  # shellcheck disable=SC2086
  python=$(find_python ${wanted:-3.12 3.11 3.10 3.13})
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  hash=$({ cat "$requirements"; echo "$version"; } | sha256sum | cut -c1-12)
  target="$cache/$family-$hash"
  mkdir -p "$cache"
  if [ -n "$find_only" ] && [ ! -d "$target" ]; then
    say "$family is not installed"
    return
  fi
  (
    flock 9
    [ -d "$target" ] || install "$family" "$python" "$target"
  ) 9>"$cache/$family.lock"
  echo "$family=$target/bin/python"
}

find_only=
if [ "${1:-}" = --find ]; then
  find_only=yes
  shift
fi
if [ $# -eq 0 ]; then
  for file in "$here"/requirements-*.txt; do
    family=${file##*/requirements-}
    set -- "$@" "${family%.txt}"
  done
fi
for family in "$@"; do ensure "$family"; done
