#!/usr/bin/env bash
# Install everything that hrp_ros needs, in .venv of this checkout. Safe to run again: completed steps
# are skipped. Other scripts source it.
#
# HRP_ROS_DISTRO=kilted sets up ROS 2 Kilted instead of Jazzy, beside it in .venv-kilted.
# HRP_ROS_EXTRA=test-ros installs only what the tests with ROS 2 need, not what all tests do.
#
# Needs apt (Debian 12/13, Ubuntu 22.04/24.04) and either root or sudo.

set -euo pipefail
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
DISTRO=${HRP_ROS_DISTRO:-jazzy}
EXTRA=${HRP_ROS_EXTRA:-test}
VENV="$PWD/.venv"
[ "$DISTRO" = jazzy ] || VENV+="-$DISTRO"
PYTHON=/usr/bin/python3 # the system's, so that apt's python3-pyode is found

APT_PACKAGES=(
  build-essential cmake python3-dev python3-venv # to compile the extension and the interfaces
  libode-dev                                     # physics
  libyaml-dev                                    # reading of .body and world files
  python3-pyode                                  # the second physics engine
  libegl1 libgl1 libgl1-mesa-dri                 # camera images without a display or a GPU
  liburdfdom-tools                               # check_urdf, for the tests
  strace                                         # shows tests what a command writes
  chromium fonts-dejavu-core                     # the browser that tests look at pages with
)
ROS_WHEELS="hrp_msgs/interfaces/requirements-$DISTRO.txt"

bold() { if [ -t 1 ]; then printf '\033[1m%s\033[0m' "$1"; else printf '%s' "$1"; fi; }
say() { printf '%s %s\n' "$(bold '[setup]')" "$*"; }
fail() { # PROBLEM REMEDY
  printf '%s %s\n  remedy: %s\n' "$(bold '[setup] failed:')" "$1" "$2" >&2
  exit 1
}

# Until a log is removed, show the elapsed time and its last line on the terminal.
watch_log() {
  local started=$SECONDS
  while [ -e "$1" ]; do
    printf '\r\033[K%8d s  %.*s' $((SECONDS - started)) $((${COLUMNS:-80} - 14)) "$(tail -qn 1 "$1" 2>/dev/null | tr -cd '[:print:]')"
    sleep 0.5
  done
  printf '\r\033[K'
}

# step TITLE REMEDY COMMAND...: run a command without its output. If it fails, show the end of its
# output, and the remedy.
step() {
  local title=$1 advice=$2 started=$SECONDS log status=0
  shift 2
  log=$(mktemp)
  # shellcheck disable=SC2064 # the name as it is now
  trap "rm -f '$log'" EXIT
  say "$title ..."
  if [ -t 1 ]; then watch_log "$log" & fi
  "$@" >"$log" 2>&1 || status=$?
  local written
  written=$(tail -n 30 "$log")
  rm -f "$log"
  wait
  trap - EXIT
  if [ "$status" != 0 ]; then
    printf '%s\n' "$written" | sed 's/^/  | /' >&2
    fail "$title" "$advice"
  fi
  printf '%8d s\n' $((SECONDS - started))
}

# A step is marked with a fingerprint of its inputs, and runs again when they change.
is_done() { [ "$(cat "$VENV/.setup/$1" 2>/dev/null)" = "$2" ]; }
mark_done() { mkdir -p "$VENV/.setup" && printf '%s' "$2" >"$VENV/.setup/$1"; }
fingerprint() { { printf '%s\n' "$@"; cat; } | sha256sum | cut -d' ' -f1; }

# alone FILE COMMAND...: run a step while holding a lock on FILE, so that only one shell runs it.
alone() {
  local lock=$1
  shift
  (
    flock -n 9 || {
      say "waiting for another setup ..."
      flock 9
    }
    "$@"
  ) 9<"$lock"
}

install_apt_packages() {
  local missing=() root=() package
  for package in "${APT_PACKAGES[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local by_hand="apt-get install ${missing[*]}"
  command -v apt-get >/dev/null ||
    fail "this system has no apt-get" "install the equivalents of: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    by_hand="sudo $by_hand"
    command -v sudo >/dev/null ||
      fail "system packages are missing, and sudo is not installed" "run as root: ${by_hand#sudo }; then run this again as $(id -un)"
    sudo -n true 2>/dev/null || say "system packages are missing; sudo asks for your password"
    sudo true ||
      fail "system packages are missing, and sudo failed" "have an administrator run: $by_hand; then run this again"
    root=(sudo)
  fi
  # A broken repository must not prevent the installation from the others.
  step "updating the package lists" "check /etc/apt/sources.list*" \
    sh -c '"$@" || echo "some package lists could not be updated"' - "${root[@]}" apt-get update
  step "installing system packages: ${missing[*]}" "check the network, then run: $by_hand" \
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 "${missing[@]}"
}

# A virtual environment works only in its original folder, and with its original Python.
venv_works() {
  "$VENV/bin/python" -c "
import pathlib, sys, sysconfig
venv = pathlib.Path(sys.argv[1])
assert pathlib.Path(sysconfig.get_path('purelib')).is_dir()
assert str(venv) in (venv / 'bin/pip').read_text()
" "$VENV" 2>/dev/null
}

make_venv() {
  venv_works && return
  "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "Python 3.10 or newer is needed, not $("$PYTHON" -V)" "use Debian 12, Ubuntu 22.04, or newer"
  [ -w . ] || fail "$(id -un) may not write to $PWD" "clone the repository to a folder that you own"
  rm -rf "$VENV" 2>/dev/null || fail "$VENV belongs to another user" "remove it: sudo rm -r '$VENV'"
  step "creating a virtual environment in ${VENV##*/}" "check the free disk space" \
    "$PYTHON" -m venv --system-site-packages "$VENV"
  pip_install "the build tools" 'setuptools>=64' wheel
}

pip_install() { # NAME PACKAGE...
  local what=$1
  shift
  [ -w "$VENV" ] || fail "$VENV belongs to another user" "remove it: sudo rm -r '$VENV'"
  step "installing $what" "check the network and the free disk space, then run this again" \
    "$VENV/bin/python" -m pip install --disable-pip-version-check --no-input "$@"
}

# ROS writes logs below HOME, and hrp_ros meshes; the account of a service may have no HOME.
ensure_home() {
  [ -w "${HOME:-/nonexistent}" ] && return
  export HOME="$VENV/home"
  mkdir -p "$HOME"
}

install_ros() {
  if [ -n "${ROS_DISTRO:-}" ] && [ "${HRP_ROS_DISTRO:-$ROS_DISTRO}" = "$ROS_DISTRO" ] && [ ! -e "$VENV/.setup/ros" ] && "$VENV/bin/python" -c 'import rclpy' 2>/dev/null; then
    say "using the sourced ROS 2 $ROS_DISTRO"
    return
  fi
  local mark
  mark=$(find hrp_msgs/interfaces -type f ! -path '*__pycache__*' -print0 | sort -z | xargs -0 cat |
    fingerprint "$DISTRO")
  is_done ros "$mark" && return
  [ "$(uname -m)" = x86_64 ] ||
    fail "PyPI has ROS 2 for x86_64 only, not for $(uname -m)" "install ROS 2, source its setup.bash, run this again"
  pip_install "ROS 2 ${DISTRO^} from PyPI" -r "$ROS_WHEELS"
  step "building the standard messages that PyPI lacks" "see the error of the compiler above" \
    "$VENV/bin/python" -m hrp_msgs.interfaces.build
  mark_done ros "$mark"
}

# Whether the command is installed, and runs the code of this checkout from any folder.
is_installed() {
  [ -x "$VENV/bin/hrp-sim" ] && (cd / && "$VENV/bin/python" -c "
import os, sys
import hrp_sim.engine.ode._core as core, hrp_sim.sensors._probe
assert os.path.dirname(core.__file__) == sys.argv[1]
" "$OLDPWD/hrp_sim/engine/ode" 2>/dev/null)
}

install_package() {
  local mark
  mark=$({
    cat setup.py setup.cfg pyproject.toml
    find hrp_* -name '*.[ch]' -print0 | sort -z | xargs -0 cat
  } | fingerprint "$PWD" "$EXTRA")
  is_done package "$mark" && is_installed && return
  pip_install "hrp_ros and its requirements" --no-build-isolation -e ".[$EXTRA]"
  mark_done package "$mark"
}

[ -f "$ROS_WHEELS" ] ||
  fail "HRP_ROS_DISTRO is '$DISTRO'" "unset it for Jazzy, or set it to kilted"
alone setup.py install_apt_packages
alone setup.py make_venv
ensure_home
alone "$VENV/pyvenv.cfg" install_ros # beside that of another distribution
alone setup.py install_package       # its extensions are in this folder
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  say "ready: source ${VENV##*/}/bin/activate"
fi
