#!/usr/bin/env bash
# Builds Kubernetes, etcd and CoreDNS from their Go modules and unpacks Debian's containerd, runc,
# CNI plugins and static busybox, once, into a cache folder named for the hash of what is built, and
# how; prints the folder. Nothing is installed on the system. With `--find` nothing is built: it
# only says where the finished folder is, and with `--find oracle` where the program is that answers
# for Kubernetes' own code. That one has a hash of its own: to change it does not mean to build the
# cluster's programs again. `--find oracle-37` and `--with oracle-37` say where the same program is
# for Kubernetes 1.37, and the latter builds it first. `--find kubernetes-37` and `--with
# kubernetes-37` do the same for a folder of that release, with the same programs. With `--check`
# nothing is built either: it only looks whether it could be. What is missing is named on standard
# error, with exit code 1. Cold it takes minutes on two idle cores and about 3 GiB of Go's own
# caches; a build that was killed goes on where it was.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cache="${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast}"
packages=(containerd runc containernetworking-plugins busybox-static)
of_kubernetes=(kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl)
programs=(pause logind "${of_kubernetes[@]}")

# the module whose Kubernetes is wanted
version_in() { awk '$1 == "k8s.io/kubernetes" { print $2 }' "$here/go/$1"; }

# Without a stamp the programs call themselves v0.0.0-master, which confuses clients.
stamp_of() {
  local major minor pair stamp="-s -w"
  IFS=. read -r major minor _ <<< "${1#v}"
  for pair in "gitVersion=$1" "gitMajor=$major" "gitMinor=$minor"; do stamp+=" -X k8s.io/component-base/version.$pair"; done
  printf '%s' "$stamp"
}

version="$(version_in go.mod)"
flags=(-trimpath -ldflags "$(stamp_of "$version")")
settings=(CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off 'GOFLAGS=-mod=readonly -buildvcs=false')

# folders and files, and what of them does not count
sources() {
  find "$@" -type f \( -name '*.go' -o -name '*.s' -o -name 'go.*' \) -print0 | LC_ALL=C sort --zero-terminated | xargs -0 sha256sum | sed "s|$here/||"
}

inputs() {
  sources "$here/go" "$here/go-etcd" "$here/go-coredns" -not -path "$here/go/oracle/*"
  printf '%s\n' "${packages[@]}" "${programs[@]}" "${flags[@]}" "${settings[@]}"
}

# tools, each with where it comes from: TOOL=WHERE
need() {
  local missing='' each
  for each in "$@"; do command -v "${each%%=*}" > /dev/null || missing+=", ${each%%=*} (${each#*=})"; done
  [[ -z $missing ]] && return
  printf 'to build Kubernetes this machine lacks %s\n' "${missing#, }" >&2
  exit 1
}

# folder, which need not be there yet; MiB; what can name another folder
need_room() {
  local there="$1" free
  until [[ -e $there ]]; do there="$(dirname "$there")"; done
  free=$(($(df --output=avail --block-size=1024 "$there" | tail -n 1) / 1024))
  [[ $free -ge $2 ]] && return
  printf 'to build Kubernetes %s needs %d MiB free, and has %d: make room there, or set %s to a folder on a larger disk\n' "$1" "$2" "$free" "$3" >&2
  exit 1
}

# module folder, package, name of the program, more flags of the build
build() {
  local program="$3"
  [[ -x $bin/$program ]] && return
  printf 'building %s\n' "$program" >&2
  (cd "$here/$1" && nice -n 10 env "${settings[@]}" go build -p 2 "${flags[@]}" "${@:4}" -o "$bin/.$program.unfinished" "$2")
  mv "$bin/.$program.unfinished" "$bin/$program"
}

folder="$cache/kubernetes-$(inputs | sha256sum | cut -c1-12)"
oracle="oracle-$(sources "$here/go/oracle" "$here"/go/go.{mod,sum} | sha256sum | cut -c1-12)"
bin="$folder/bin"
# The same sources with the modules of Kubernetes 1.37.
oracle_37="${oracle/oracle/oracle-37}"
of_37=(-modfile=oracle/go.1.37.mod -tags=kubernetes137)
version_37="$(version_in oracle/go.1.37.mod)"
kubernetes_37="$folder/kubernetes-37-$({ sources "$here"/go/*/main.go "$here"/go/oracle/go.1.37.{mod,sum}; printf '%s\n' "${of_kubernetes[@]}" "${of_37[@]}"; } | sha256sum | cut -c1-12)"
is_complete() { [[ -e $folder/complete && -e $folder/packages/complete && -x $folder/bin/$oracle ]]; }

if [[ ${1:-} == --find ]] && ! is_complete; then
  printf 'Kubernetes is not built yet: test/kubernetes/setup.sh builds it\n' >&2
  exit 1
fi

if ! is_complete; then
  need_room "$cache" 1024 HOLDFAST_CACHE
  go="$(awk '$1 == "go" { print $2 }' "$here"/go*/go.mod | sort --version-sort | tail -n 1)"
  need "apt-get=Debian, for its packages ${packages[*]}" "dpkg-deb=Debian's package dpkg" "flock=Debian's package util-linux" "go=$go or later, https://go.dev/dl"
  # Go's own caches: cold they take about 3 GiB.
  modules="$(go env GOMODCACHE)"
  [[ -e $modules/k8s.io/kubernetes@$version ]] || need_room "$modules" 4096 GOMODCACHE
  [[ ${1:-} == --check ]] && exit
  mkdir -p "$folder/bin"
  # Whoever comes second waits for the first one's build.
  exec 9> "$folder/.lock"
  flock 9
  unpacked="$("$here/../support/setup-mount-tools.sh" "${packages[@]}")"
  ln --symbolic --force --no-dereference "$unpacked" "$folder/packages"
  build go-etcd . etcd
  for program in "${programs[@]}"; do build go "./$program" "$program"; done
  build go ./oracle "$oracle"
  build go-coredns . coredns
  printf '%s\n' "$version" > "$folder/version"
  touch "$folder/complete"
fi
case "${2:-}" in
  oracle) printf '%s\n' "$folder/bin/$oracle" ;;
  oracle-37)
    if [[ $1 == --with ]]; then
      exec 9> "$folder/.lock"
      flock 9
      build go ./oracle "$oracle_37" "${of_37[@]}"
    elif [[ ! -x $folder/bin/$oracle_37 ]]; then
      printf 'the program for Kubernetes 1.37 is not built yet: test/kubernetes/setup.sh --with oracle-37 builds it\n' >&2
      exit 1
    fi
    printf '%s\n' "$folder/bin/$oracle_37"
    ;;
  kubernetes-37)
    if [[ $1 == --with ]]; then
      exec 9> "$folder/.lock"
      flock 9
      bin="$kubernetes_37/bin"
      mkdir -p "$bin"
      for program in "${of_kubernetes[@]}"; do build go "./$program" "$program" "${of_37[@]}" -ldflags "$(stamp_of "$version_37")"; done
      # The other programs are of no release.
      for program in etcd coredns pause logind; do ln --symbolic --force "$folder/bin/$program" "$bin/$program"; done
      ln --symbolic --force --no-dereference "$(readlink "$folder/packages")" "$kubernetes_37/packages"
      printf '%s\n' "$version_37" > "$kubernetes_37/version"
      touch "$kubernetes_37/complete"
    elif [[ ! -e $kubernetes_37/complete ]]; then
      printf 'Kubernetes 1.37 is not built yet: test/kubernetes/setup.sh --with kubernetes-37 builds it\n' >&2
      exit 1
    fi
    printf '%s\n' "$kubernetes_37"
    ;;
  *) printf '%s\n' "$folder" ;;
esac
