# SPDX-License-Identifier: MIT
# What the scripts beside this file share; they source it. It sets $root and $name, the script's.

name=$(basename "$0")
unset CDPATH # cd would print where it goes
root=$(cd "$(dirname "$0")/.." && pwd)

fail() { # status, text
    echo "$name: $2" >&2
    exit "$1"
}

# Sets the array $arguments to what is not an option, and $output or $fps to an option's value.
# $usage is printed for --help, and its first line for what is wrong.
read_arguments() { # names of the options that there are, least and most arguments, the script's own
    local options=" $1 " least=$2 most=$3 option value
    shift 3
    arguments=()
    while [ $# -gt 0 ]; do
        case $1 in
        --help | -h)
            echo "$usage"
            exit
            ;;
        --)
            shift
            arguments+=("$@")
            break
            ;;
        --*)
            option=${1%%=*}
            option=${option#--}
            [[ $options == *" $option "* ]] || fail 2 "there is no option '$1'; ${usage%%$'\n'*}"
            if [[ $1 == *=* ]]; then
                value=${1#*=}
            else
                [ $# -gt 1 ] || fail 2 "--$option needs a value; ${usage%%$'\n'*}"
                value=$2
                shift
            fi
            [ -n "$value" ] || fail 2 "--$option needs a value; ${usage%%$'\n'*}"
            printf -v "$option" %s "$value"
            ;;
        -?*) fail 2 "there is no option '$1'; ${usage%%$'\n'*}" ;;
        *) arguments+=("$1") ;;
        esac
        shift
    done
    [ ${#arguments[@]} -ge "$least" ] || fail 2 "an argument is missing; ${usage%%$'\n'*}"
    [ ${#arguments[@]} -le "$most" ] || fail 2 "there is an argument too many, '${arguments[$most]}'; ${usage%%$'\n'*}"
}

# A file, a folder of pictures, or their names with a number such as %05d in them.
check_video() { # path
    if [[ ! -e $1 && $1 =~ %[0-9]*d ]]; then
        compgen -G "$(printf %s "$1" | sed 's/[][*?\\]/\\&/g; s/%[0-9]*d/*/')" >/dev/null ||
            fail 1 "there are no pictures '$1'"
        return
    fi
    [ -e "$1" ] || fail 1 "there is no video '$1'"
    [ -r "$1" ] || fail 1 "cannot read the video '$1'"
    [ -f "$1" ] || [ -d "$1" ] || fail 1 "'$1' is neither a file nor a folder"
}

check_file() { # what it is, path; an empty path is none
    [ -z "$2" ] || { [ -f "$2" ] && [ -r "$2" ]; } || fail 1 "cannot read the $1 '$2'"
}

# Before minutes of set-up: where the file goes.
check_output() { # path
    local folder
    folder=$(dirname "$1")
    [ -d "$folder" ] || fail 1 "cannot write '$1': there is no folder '$folder'"
    [ ! -d "$1" ] || fail 1 "cannot write '$1': it is a folder"
}

check_display() {
    [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] ||
        fail 1 "there is no display for a window (neither DISPLAY nor WAYLAND_DISPLAY is set); demo.sh writes a file instead"
}

# Installs and builds what is missing, then runs samtrack-run in place of the script.
run() { # its arguments
    "$root/tools/setup.sh" run
    "$root/tools/build.sh" gst/libgstsamtrack.so gst/scene/libgstsamscene.so pipelines/run/samtrack-run
    export GST_PLUGIN_PATH="$root/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
    exec "$root/build/pipelines/run/samtrack-run" --name="$name" "$@"
}
