#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the Debian packages, reads them with lintian, and installs them in a bare system, where debian/tests run.
# usage: tools/package.sh [FOLDER [build|lint|try]...]
#   FOLDER  for the packages, logs and the bare system, which is used again where it is there (default: a new one).
#   Of the three steps, those that are named; by default all.
# CUDA=disabled leaves the kernels out where there is an nvcc. It needs root, dpkg-dev, lintian, debootstrap and the
# packages of debian/control; SUITE (bookworm) and MIRROR name the bare system's Debian.
set -eu -o pipefail
cd "$(dirname "$0")/.."

say() {
    echo "tools/package.sh: $1" >&2
}

fail() { # log, what
    tail -n 40 "$1"
    say "$2 failed; $1 has all of it"
    exit 1
}

build() {
    say "building in $folder"
    rm -rf "$folder/samtrack" "$folder"/*.deb
    mkdir "$folder/samtrack"
    git ls-files -z --cached --others --exclude-standard | tar --null -T - -c | tar -x -C "$folder/samtrack"
    (cd "$folder/samtrack" && dpkg-buildpackage -us -uc -b) >"$folder/build.log" 2>&1 || fail "$folder/build.log" building
    (cd "$folder" && ls -s --block-size=K ./*.deb)
}

lint() {
    say lintian
    lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$folder"/*.changes 2>&1 | tee "$folder/lintian.log"
    [ -s "$folder/lintian.log" ] || say "lintian finds nothing"
}

# A tree of processes, mounts and names of its own.
inside() { # command
    unshare --mount --pid --fork --uts chroot "$folder/bare" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        HOME=/root DEBIAN_FRONTEND=noninteractive sh -c "mount -t proc proc /proc; $1"
}

try() {
    local test bare=$folder/bare
    if [ ! -e "$bare/etc/debian_version" ]; then
        say "a bare ${SUITE:-bookworm}"
        debootstrap --variant=minbase "${SUITE:-bookworm}" "$bare" "${MIRROR:-http://deb.debian.org/debian}" >"$folder/debootstrap.log" ||
            fail "$folder/debootstrap.log" debootstrap
    fi
    say "installing in the bare system"
    cp /etc/resolv.conf "$bare/etc/"
    rm -rf "$bare/packages"
    mkdir "$bare/packages"
    cp "$folder"/*.deb debian/tests/pipeline debian/tests/compile "$bare/packages"
    rm "$bare"/packages/*-dbgsym_*
    inside 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /packages/*.deb gstreamer1.0-tools gcc libc6-dev pkg-config' \
        >"$folder/install.log" 2>&1 || fail "$folder/install.log" installing
    for test in pipeline compile; do
        say "debian/tests/$test"
        inside "/packages/$test" 2>&1 | tee "$folder/$test.log"
    done
    say "removing"
    inside 'apt-get purge -y -qq samtrack-tools gstreamer1.0-samtrack samtrack-model libsamtrack-dev libsamtrack1' \
        >"$folder/remove.log" 2>&1 || fail "$folder/remove.log" removing
}

main() {
    local program step
    case ${1:-} in
    -*) say "there is no option '$1'; usage: tools/package.sh [FOLDER [build|lint|try]...]"; exit 2 ;;
    esac
    for step in "${@:2}"; do
        case $step in
        build | lint | try) ;;
        *) say "there is no step '$step'; expected build, lint or try"; exit 2 ;;
        esac
    done
    [ "$(id -u)" = 0 ] || { say "it needs root, for a system of its own"; exit 1; }
    for program in dpkg-buildpackage lintian debootstrap; do
        command -v "$program" >/dev/null || { say "there is no $program: apt-get install dpkg-dev debhelper lintian debootstrap"; exit 1; }
    done
    folder=${1:-$(mktemp -d)}
    mkdir -p "$folder"
    folder=$(realpath "$folder")
    [ $# = 0 ] || shift
    [ $# -gt 0 ] || set -- build lint try
    for step in "$@"; do
        "$step"
    done
    say "all is well; $folder has the packages and logs"
}

main "$@"
exit
