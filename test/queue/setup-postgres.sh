#!/usr/bin/env bash
# Prints the folder with the programs of a PostgreSQL server: that of the system where one is
# installed, or else of Debian's package, unpacked into the cache folder. Nothing is installed.
# Where neither can be had it fails, and the suites that need it are skipped.
set -euo pipefail
shopt -s nullglob
installed=(/usr/lib/postgresql/*/bin)
if [[ ${#installed[@]} -gt 0 && -x ${installed[-1]}/postgres ]]; then
  printf '%s\n' "${installed[-1]}"
  exit
fi
version=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1)
[[ -n $version ]] || { printf 'there is no PostgreSQL server here, and no Debian package of one\n' >&2; exit 1; }
tools=$("$(dirname -- "${BASH_SOURCE[0]}")/../support/setup-mount-tools.sh" "postgresql-$version" "postgresql-client-$version" libpq5)
printf '%s\n' "$tools/usr/lib/postgresql/$version/bin"
