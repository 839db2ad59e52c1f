#!/usr/bin/env bash
# Unpacks Debian's packages that are named, or else the makers of XFS and Btrfs and a FUSE file
# system (bindfs) with the libraries they need beyond every Debian's, into the cache folder, and
# prints where. Nothing is installed. Where there is no apt-get the suites that need them are
# skipped. A machine whose package lists were never fetched, or name what the mirror has no more,
# gets lists of its own for this, beside the download.
set -euo pipefail

packages=("$@")
[[ $# -gt 0 ]] || packages=(xfsprogs btrfs-progs bindfs libinih1 liburcu8 libfuse2)
# Named for all of them, so that a list that has changed is fetched; no package has such a line in
# its name.
tools="${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast}/tools$(printf '_%s' "${packages[@]}")"
if [[ ! -e $tools/complete ]]; then
  # Under another name first, so that a killed download is never taken for a whole one; whoever
  # comes first wins.
  unfinished="$tools.$$.unfinished"
  mkdir -p "$unfinished"
  trap 'rm -rf "$unfinished"' EXIT
  mkdir -p "$unfinished/apt/lists/partial" "$unfinished/apt/cache/archives/partial"
  own=(-o "Dir::State::lists=$unfinished/apt/lists" -o "Dir::Cache=$unfinished/apt/cache")
  cd "$unfinished"
  apt-get download "${packages[@]}" >&2 || { apt-get "${own[@]}" update >&2 && apt-get "${own[@]}" download "${packages[@]}" >&2; }
  for package in ./*.deb; do dpkg-deb --extract "$package" .; done
  rm -r ./*.deb apt
  touch "$unfinished/complete"
  mv --no-target-directory "$unfinished" "$tools" 2> /dev/null || [[ -e $tools/complete ]]
fi
printf '%s\n' "$tools"
