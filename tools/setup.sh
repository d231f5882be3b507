#!/usr/bin/env bash
# Installs what samtrack needs to be built, run and tested on Debian or Ubuntu: only what is
# missing, and it says so first. Usage: tools/setup.sh [run|test]
set -eu

run_packages="gcc g++ libc6-dev meson ninja-build pkg-config libjansson-dev libdnnl-dev libgomp1
  libjpeg-dev libpng-dev libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev gstreamer1.0-tools
  gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-ugly gstreamer1.0-libav"
test_packages="python3 python3-numpy python3-pil procps gstreamer1.0-plugins-bad"

case "${1:-run}" in
run)  packages=$run_packages ;;
test) packages="$run_packages $test_packages" ;;
*)    echo "usage: tools/setup.sh [run|test]" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "tools/setup.sh: this is neither Debian nor Ubuntu; please install yourself:" $packages >&2
    exit 0
fi
missing=
for p in $packages; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "tools/setup.sh: missing:$missing; please install as root" >&2; exit 1; }
    as_root=sudo
fi
echo "samtrack needs these packages and installs them now:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
