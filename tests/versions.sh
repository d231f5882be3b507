#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds with the GStreamer of another system, in a root of its own (build-roots/debian-13, or below $SAMTRACK_ROOTS), and runs
# the quick tests of the elements there. Last line: N passed, N failed, N skipped. Needs root and debootstrap.
# usage: tests/versions.sh --debian RELEASE | --ubuntu RELEASE [TEST...]
#   --debian 12 (GStreamer 1.22), 13 (1.26), 14 (1.28); --ubuntu 22.04 (1.20), 24.04 (1.24)
#   TEST: these alone, as meson test names them
# The first run installs about 1 GB and compiles all but the kernels that build/ has; later ones what has changed. For Ubuntu, debootstrap needs the keys of its
# archive, which Debian 13 has as ubuntu-keyring: $SAMTRACK_UBUNTU_KEYS is that file where it is elsewhere.
set -u
cd "$(dirname "$0")/.."
usage() { sed -n '5,7s/^# //p' "$0" >&2; exit 2; }

[ $# -ge 2 ] || usage
case "$1 $2" in
"--debian 12") suite=bookworm ;;
"--debian 13") suite=trixie ;;
"--debian 14") suite=forky ;;
"--ubuntu 22.04") suite=jammy ;;
"--ubuntu 24.04") suite=noble ;;
*) echo "tests/versions.sh: '$1 $2' is not known" >&2; usage ;;
esac
options=(--components=main) script=sid # debootstrap's name for all of Debian's releases, also later ones
if [ "$1" = --ubuntu ]; then
    script=gutsy # and for Ubuntu's
    options=(--components=main,universe "--keyring=${SAMTRACK_UBUNTU_KEYS:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}")
fi
roots=${SAMTRACK_ROOTS:-$PWD/build-roots}
root=$roots/${1#--}-$2
# Where the tree was built here, the root takes the kernels from there: compilers need longest for them.
kernels=$PWD/build taken=-Dkernels_of=/kernels
[ -e "$kernels/engine/ops/cpu/libcpu_generic.a" ] || kernels=$root/kernels taken=
shift 2

fail() { # sentence
    echo "tests/versions.sh: $1" >&2
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}

# In the root, which sees only its own mounts.
inside() { # command
    unshare --mount sh -c 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --bind "$2" "$1/kernels" &&
      exec chroot "$1" sh -c "$3"' sh "$root" "$kernels" "export DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8; cd /samtrack && $1"
}

make_root() {
    [ ! -e "$root/made" ] || return 0
    rm -rf "$root" && mkdir -p "$roots" || return
    debootstrap --variant=minbase --include=ca-certificates "${options[@]}" "$suite" "$root" "" "$script" \
        >"$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; return 1; }
    touch "$root/made"
}

# What is committed, and what has changed since. What is the same there stays as it is, so little is compiled again.
copy_sources() {
    local file
    mkdir -p "$root/samtrack" "$root/kernels" || return
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
        [ -e "$file" ] && ! cmp -s "$file" "$root/samtrack/$file" || continue
        mkdir -p "$root/samtrack/$(dirname "$file")" && cp --preserve=mode "$file" "$root/samtrack/$file" || exit 1
    done
}

[ "$(id -u)" = 0 ] || fail "this makes a root of its own, and only root may"
command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"
make_root || fail "the root $root cannot be made, see $root.log"
copy_sources || fail "the sources cannot be copied to $root"
inside "tools/setup.sh live" >"$root.log" 2>&1 || fail "packages cannot be installed in $root, see $root.log"
# Ubuntu 22.04 has a meson that is too old.
inside 'dpkg --compare-versions "$(meson --version)" ge 1.0 ||
  { apt-get install -y -qq --no-install-recommends python3-pip && python3 -m pip install -q meson==1.0.1; }' >>"$root.log" 2>&1 ||
    fail "meson cannot be installed in $root, see $root.log"
inside "printf 'GStreamer '; pkg-config --modversion gstreamer-1.0" >&2
inside "test -f build/build.ninja || meson setup build -Dcuda=disabled -Demu=false $taken >/dev/null
  ninja -C build build.ninja >/dev/null && ninja -C build \$(python3 tests/progress.py --targets build --suite gst --no-suite nosan)" >"$root.log" 2>&1 ||
    { grep -A20 '^FAILED' "$root.log" >&2; fail "it does not build, see $root.log"; }
grep -c 'warning:' "$root.log" | sed 's/^/warnings: /' >&2
sums=$(inside "python3 tests/progress.py versions build ${*:---suite gst --no-suite slow --no-suite nosan}")
set -- $sums
echo "${1:-0} passed, ${2:-1} failed, ${3:-0} skipped"
[ "${2:-1}" = 0 ] && [ "${1:-0}" -gt 0 ]
