#!/usr/bin/env bash
# Installs pytest, once, at pinned versions, into a cache outside of the tree. Prints the folder,
# which belongs on the PYTHONPATH.
#
#   test/support/setup-pytest.sh PYTHON    with the pip of this interpreter; the folder is good for
#                                          every Python from 3.9 on
#
# Needs a package index the first time. Nothing is done when it is there.
set -euo pipefail

requirements="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/requirements-pytest.txt"
cache="${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast}"
folder="$cache/pytest-$(sha256sum "$requirements" | cut -c1-12)"
mkdir -p "$cache"
# Test files that start at the same time install once. The folder gets its name only once it is
# whole.
exec 9>"$cache/pytest.lock"
flock 9
if [ ! -d "$folder" ]; then
  printf 'installing pytest into %s\n' "$folder" >&2
  rm -rf "$folder.new"
  "${1:-python3}" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --only-binary=:all: \
    --target "$folder.new" -r "$requirements" >&2
  mv "$folder.new" "$folder"
fi
printf '%s\n' "$folder"
