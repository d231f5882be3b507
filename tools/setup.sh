#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the missing packages that samtrack needs to be built and run (run) or tested (test) on
# Debian or Ubuntu, and lists them first; on standard error it tells how far it is. Usage: tools/setup.sh [run|live|test|readers|slurm|arm64]
# readers: Python packages that read samexport's files, about 900 MB with what they need, for one test.
# slurm: Debian's slurm alone, 12 MB in build-slurm/, for one test; test has it, too.
# arm64: a cross compiler and qemu-user (150 MB), and libraries of arm64 in build-arm64-root/ (40 MB), for tests/arm64.sh.
set -eu -o pipefail

run_packages="gcc libc6-dev meson ninja-build pkg-config libjansson-dev libjson-glib-dev libpaho-mqtt-dev librdkafka-dev
  libjpeg-dev libpng-dev libpango1.0-dev libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev gstreamer1.0-tools
  gstreamer1.0-plugins-base gstreamer1.0-x gstreamer1.0-plugins-good gstreamer1.0-plugins-ugly gstreamer1.0-libav"
live_packages="libsoup-3.0-dev libjson-glib-dev libgstrtspserver-1.0-dev
  libgstreamer-plugins-bad1.0-dev gstreamer1.0-plugins-bad gstreamer1.0-nice glib-networking"
test_packages="libdnnl-dev python3 python3-numpy python3-pil gstreamer1.0-plugins-bad clang g++ xvfb xdotool openssl
  mosquitto mosquitto-clients nginx-light python3-pip python3-websockets python3-gi gir1.2-gst-rtsp-server-1.0"
# Of Python, where it lacks them: module and package. Debian has neither pycocotools nor axe-core, which the last one brings.
python_packages="pycocotools.mask:pycocotools==2.0.8 numpy:numpy PIL:pillow axe_playwright_python:axe-playwright-python==0.1.8"

slurm_packages="slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2 libhwloc15 libjson-c5 libyaml-0-2"
arm64_packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static meson ninja-build pkg-config python3"
arm64_libraries="libc6-dev libjansson-dev libjpeg62-turbo-dev libpng-dev"
openapi_packages="openapi-spec-validator==0.7.2"
# Tests that need modules run in Debian's own Python, whatever is ahead of it in the PATH: its packages have gi and websockets.
python=/usr/bin/python3
reader_packages="supervision==0.31.2 datumaro==1.13.12"

# apt's status lines as one line now and then. No awk: Debian's reads a pipe in blocks.
show() {
    local kind package share text told=-10 interval=10 form='%s\n'
    [ ! -t 2 ] || interval=1 form='\r\033[K%s'
    while IFS=: read -r kind package share text; do
        case $kind in
        dlstatus) text="downloading packages" ;;
        pmstatus) text="unpacking packages and setting them up" ;;
        *) continue ;;
        esac
        [ $((SECONDS - told)) -ge $interval ] || continue
        told=$SECONDS
        printf "$form" "tools/setup.sh: $text, ${share%%.*} %" >&2
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

install_missing() { # package names
    local missing= p as_root=
    for p in "$@"; do
        dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { echo "tools/setup.sh: there is no sudo; please install as root:$missing" >&2; exit 1; }
        as_root=sudo
    fi
    echo "tools/setup.sh: installing the packages that samtrack needs:$missing"
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -qq
    $as_root apt-get install -y -qq --no-install-recommends -o APT::Status-Fd=1 $missing | show
}

# Into build-python/, for tests alone; those that need it are skipped where it cannot be installed.
install_python() { # module:package ...
    local folder p missing=
    folder="$(cd "$(dirname "$0")/.." && pwd)/build-python"
    for p in "$@"; do
        PYTHONPATH="$folder" $python -c "import ${p%%:*}" 2>/dev/null || missing="$missing ${p#*:}"
    done
    [ -n "$missing" ] || return 0
    echo "tools/setup.sh: installing Python packages into build-python/:$missing"
    $python -m pip install -q --upgrade --no-deps --disable-pip-version-check --root-user-action=ignore --target "$folder" $missing ||
        echo "tools/setup.sh: these Python packages cannot be installed, and the tests with them are skipped:$missing" >&2
}

# With all that they need, so in a folder of their own.
install_readers() {
    local folder
    folder="$(cd "$(dirname "$0")/.." && pwd)/build-readers"
    PYTHONPATH="$folder" $python -c 'import supervision, datumaro' 2>/dev/null && return 0
    echo "tools/setup.sh: installing Python packages into build-readers/: $reader_packages"
    $python -m pip install -q --upgrade --disable-pip-version-check --root-user-action=ignore --target "$folder" $reader_packages ||
        echo "tools/setup.sh: these Python packages cannot be installed, and are left out of the test: $reader_packages" >&2
}

# With what it needs, 13 MB in build-openapi/, for one test.
install_openapi() {
    local folder
    folder="$(cd "$(dirname "$0")/.." && pwd)/build-openapi"
    PYTHONPATH="$folder" $python -c 'import jsonschema, openapi_spec_validator' 2>/dev/null && return 0
    echo "tools/setup.sh: installing Python packages into build-openapi/: $openapi_packages"
    $python -m pip install -q --upgrade --disable-pip-version-check --root-user-action=ignore --target "$folder" $openapi_packages ||
        echo "tools/setup.sh: these Python packages cannot be installed, and the tests with them are skipped: $openapi_packages" >&2
}

# Into build-slurm/, 12 MB, for the test of the launcher: nothing of it is installed.
fetch_slurm() {
    local folder deb
    folder="$(cd "$(dirname "$0")/.." && pwd)/build-slurm"
    [ -e "$folder/usr/sbin/slurmctld-wlm" ] && return 0
    echo "tools/setup.sh: fetching slurm into build-slurm/"
    mkdir -p "$folder/deb"
    (cd "$folder/deb" && apt-get download -qq $slurm_packages 2>/dev/null) || {
        echo "tools/setup.sh: slurm cannot be fetched, and its test is skipped" >&2
        return 0
    }
    for deb in "$folder"/deb/*.deb; do dpkg -x "$deb" "$folder"; done
    rm -r "$folder/deb"
}

# Debian's packages of arm64, unpacked below build-arm64-root/ with all that they need: this machine's own packages are not
# touched. apt has lists and a state of its own there.
fetch_arm64() {
    local folder deb options
    folder="$(cd "$(dirname "$0")/.." && pwd)/build-arm64-root"
    [ ! -e "$folder/cross.ini" ] || return 0
    grep -q '^ID=debian' /etc/os-release || { echo "tools/setup.sh: arm64's libraries are fetched on Debian alone" >&2; exit 1; }
    echo "tools/setup.sh: fetching arm64's libraries into build-arm64-root/: $arm64_libraries"
    mkdir -p "$folder/apt/state/lists/partial" "$folder/apt/cache/archives/partial"
    : >"$folder/apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian" \
        "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release) main" >"$folder/apt/sources.list"
    options="-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State=$folder/apt/state
      -o Dir::State::status=$folder/apt/status -o Dir::Cache=$folder/apt/cache -o Dir::Etc::sourcelist=$folder/apt/sources.list
      -o Dir::Etc::sourceparts=- -o APT::Sandbox::User= -o APT::Install-Recommends=false -o Acquire::Languages=none"
    apt-get $options update
    apt-get $options install -y --download-only $arm64_libraries
    for deb in "$folder"/apt/cache/archives/*.deb; do dpkg-deb -x "$deb" "$folder"; done
    rm -r "$folder/apt"
    cat >"$folder/cross.ini" <<END
[binaries]
c = ['aarch64-linux-gnu-gcc', '--sysroot=$folder']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = 'qemu-aarch64-static'

[properties]
sys_root = '$folder'
pkg_config_libdir = ['$folder/usr/lib/aarch64-linux-gnu/pkgconfig', '$folder/usr/share/pkgconfig']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
}

case "${1:-run}" in
run | live | test) ;;
readers) install_readers; exit 0 ;;
slurm) fetch_slurm; exit 0 ;;
arm64) install_missing $arm64_packages; fetch_arm64; exit 0 ;;
*) echo "usage: tools/setup.sh [run|live|test|readers|slurm|arm64]" >&2; exit 2 ;;
esac
if ! command -v dpkg-query >/dev/null; then
    echo "tools/setup.sh: this is neither Debian nor Ubuntu; please install the equivalents of:" $run_packages $live_packages $test_packages >&2
    exit 0
fi
install_missing $run_packages
[ "${1:-run}" = run ] || install_missing $live_packages
if [ "${1:-run}" = test ]; then
    install_missing $test_packages
    # The package of clang's sanitizer runtime has the version in its name.
    install_missing "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
    install_python $python_packages
    install_openapi
    fetch_slurm
    # Ubuntu has them as snaps only; the tests that need them are skipped there.
    [ ! -e /etc/debian_version ] || grep -qi ubuntu /etc/os-release || install_missing chromium firefox-esr
fi
