#!/usr/bin/env bash
# Builds the Debian packages, reads them with lintian, and installs them in a bare system, where debian/tests run.
# usage: tools/package.sh [FOLDER]
#   FOLDER  for the packages, logs and the bare system, which is used again where it is there (default: a new one).
# CUDA=disabled leaves the kernels out where there is an nvcc. It needs root, dpkg-dev, lintian, debootstrap and the
# packages of debian/control; SUITE (bookworm) and MIRROR name the bare system's Debian.
set -eu -o pipefail
cd "$(dirname "$0")/.."
folder=$(realpath "${1:-$(mktemp -d)}")
suite=${SUITE:-bookworm}
mirror=${MIRROR:-http://deb.debian.org/debian}
bare=$folder/bare

say() {
    echo "tools/package.sh: $1" >&2
}

[ "$(id -u)" = 0 ] || { say "it needs root, for a system of its own"; exit 1; }
for program in dpkg-buildpackage lintian debootstrap; do
    command -v "$program" >/dev/null || { say "there is no $program: apt-get install dpkg-dev debhelper lintian debootstrap"; exit 1; }
done
mkdir -p "$folder"
say "building in $folder"
rm -rf "$folder/samtrack" "$folder"/*.deb
mkdir "$folder/samtrack"
git ls-files -z --cached --others --exclude-standard | tar --null -T - -c | tar -x -C "$folder/samtrack"
(cd "$folder/samtrack" && dpkg-buildpackage -us -uc -b) >"$folder/build.log" 2>&1 || { tail -n 40 "$folder/build.log"; exit 1; }
(cd "$folder" && ls -s --block-size=K ./*.deb)

say "lintian"
lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$folder"/*.changes | tee "$folder/lintian.log"
[ -s "$folder/lintian.log" ] || say "lintian finds nothing"

if [ ! -e "$bare/etc/debian_version" ]; then
    say "a bare $suite"
    debootstrap --variant=minbase "$suite" "$bare" "$mirror" >"$folder/debootstrap.log" || { tail -n 5 "$folder/debootstrap.log"; exit 1; }
fi
# A tree of processes, mounts and names of its own.
inside() { # command
    unshare --mount --pid --fork --uts chroot "$bare" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
        DEBIAN_FRONTEND=noninteractive sh -c "mount -t proc proc /proc; $1"
}
say "installing in the bare system"
cp /etc/resolv.conf "$bare/etc/"
rm -rf "$bare/packages"
mkdir "$bare/packages"
cp "$folder"/*.deb "$bare/packages"
cp debian/tests/pipeline debian/tests/compile "$bare/packages"
inside 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /packages/*.deb gstreamer1.0-tools gcc libc6-dev pkg-config' \
    >"$folder/install.log" 2>&1 || { tail -n 20 "$folder/install.log"; exit 1; }
for test in pipeline compile; do
    say "debian/tests/$test"
    inside "/packages/$test" 2>&1 | tee "$folder/$test.log"
done
say "removing"
inside 'apt-get purge -y -qq samtrack-tools gstreamer1.0-samtrack samtrack-model libsamtrack-dev libsamtrack1' >"$folder/remove.log" 2>&1 ||
    { tail -n 20 "$folder/remove.log"; exit 1; }
say "all is well; $folder has the packages and logs"
