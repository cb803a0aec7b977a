#!/usr/bin/env bash
# Install what hrp_ros needs in .venv of this checkout: libraries, ROS 2, the programs. Safe to run
# again: completed steps are skipped. Other scripts source it.
#
# HRP_ROS_EXTRA=view installs only what a run with ROS 2 and its page needs, all what all commands
# need, test-ros what the tests with ROS 2 need; by default it is what all tests need.
# HRP_ROS_DISTRO=kilted sets up ROS 2 Kilted instead of Jazzy, beside it in .venv-kilted.
# HRP_ROS_IS_SET_UP=1 states that all this was done just now: nothing is checked or installed.
#
# Needs apt (Debian 12/13, Ubuntu 22.04/24.04) and, if packages of it are missing, root or sudo.

set -euo pipefail
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
DISTRO=${HRP_ROS_DISTRO:-jazzy}
EXTRA=${HRP_ROS_EXTRA:-test}
VENV="$PWD/.venv"
[ "$DISTRO" = jazzy ] || VENV+="-$DISTRO"
PYTHON=/usr/bin/python3 # the system's, so that apt's python3-pyode is found

APT_PACKAGES=(
  g++ cmake python3-dev                  # to compile the extensions and the interfaces
  libode-dev                             # physics
  libyaml-dev                            # reading of .body and world files
  libqhull-dev                           # convex hulls
  libegl1 libgl1 libgl1-mesa-dri         # camera images without a display or a GPU
)
MESSAGES=(tf2_msgs) # of those that PyPI lacks, what every node needs
[ "$EXTRA" = view ] || MESSAGES=() # all
if [[ $EXTRA == test* ]]; then
  APT_PACKAGES+=(
    build-essential            # what colcon builds packages with
    python3-pyode              # the second physics engine
    liburdfdom-tools           # check_urdf
    strace                     # shows tests what a command writes
    chromium fonts-dejavu-core # the browser that tests look at pages with
  )
fi
ROS_WHEELS="hrp_msgs/interfaces/requirements-$DISTRO.txt"
LOGS=   # a folder, while steps are run
BESIDE= # process group of a step that runs beside others

bold() { if [ -t 1 ]; then printf '\033[1m%s\033[0m' "$1"; else printf '%s' "$1"; fi; }
clear_line() { if [ -t 1 ]; then printf '\r\033[K'; fi; } # of watch_logs
say() {
  clear_line
  printf '%s %s\n' "$(bold '[setup]')" "$*"
}
fail() { # PROBLEM REMEDY
  clear_line
  printf '%s %s\n  remedy: %s\n' "$(bold '[setup] failed:')" "$1" "$2" >&2
  exit 1
}

# Until the logs are removed, show the elapsed time and the last line of the newest one.
watch_logs() {
  local newest
  while newest=$(ls -t "$LOGS" 2>/dev/null); do
    newest=$(tail -qn 1 "$LOGS/${newest%%$'\n'*}" 2>/dev/null | tr -cd '[:print:]') || true
    printf '\r\033[K%8d s  %.*s' "$SECONDS" $((${COLUMNS:-80} - 14)) "$newest"
    sleep 0.5
  done
}

# step TITLE REMEDY COMMAND...: run a command without its output. If it fails, show the end of its
# output, and the remedy.
step() {
  local title=$1 advice=$2 started=$SECONDS log status=0
  shift 2
  log=$(mktemp -p "$LOGS")
  say "$title ..."
  "$@" >"$log" 2>&1 || status=$?
  if [ "$status" != 0 ]; then
    clear_line
    tail -n 30 "$log" | sed 's/^/  | /' >&2
    fail "$title" "$advice"
  fi
  say "$title: $((SECONDS - started)) s"
  rm "$log"
}

# beside COMMAND...: run it beside what follows, until "finish". As a process group it can be ended.
beside() {
  set -m
  "$@" </dev/null &
  BESIDE=$!
  set +m
}
finish() {
  local status=0
  wait "$BESIDE" || status=$?
  BESIDE=
  [ "$status" = 0 ] || exit "$status" # it has printed why
}
clean_up() {
  [ -z "$BESIDE" ] || kill -- "-$BESIDE" 2>/dev/null || true
  rm -rf "$LOGS"
  wait
  clear_line
}

# A step is marked with a fingerprint of its inputs, and runs again when they change.
is_done() { # FINGERPRINT NAME...: whether a step with one of these names did it
  local name
  for name in "${@:2}"; do
    [ "$(cat "$VENV/.setup/$name" 2>/dev/null)" != "$1" ] || return 0
  done
  return 1
}
mark_done() { mkdir -p "$VENV/.setup" && printf '%s' "$1" >"$VENV/.setup/$2"; }
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

install_apt_packages() { # PACKAGE...
  local missing=() root=() package
  for package in "$@"; do
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
  if [ ! -e "$LOGS/updated" ]; then
    # A broken repository must not prevent the installation from the others.
    step "updating the package lists" "check /etc/apt/sources.list*" \
      sh -c '"$@" || echo "some package lists could not be updated"' - "${root[@]}" apt-get update
    touch "$LOGS/updated"
  fi
  # As in images of containers, dpkg does not wait for the disk after each package, which would take
  # twice as long; "sync" makes it write them all, while the next step runs.
  step "installing system packages: ${missing[*]}" "check the network, then run: $by_hand" \
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-unsafe-io \
    -o APT::Keep-Downloaded-Packages=false "${missing[@]}"
  sync -f /usr 9<&- &
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
  local pip=(/usr/share/python-wheels/pip-*.whl)
  if [ -f "${pip[0]}" ]; then # runs from its wheel; to install it first would take longer
    step "creating a virtual environment in ${VENV##*/}" "check the free disk space" \
      "$PYTHON" -m venv --system-site-packages --without-pip "$VENV"
    pip=("$VENV/bin/python" "${pip[0]}/pip")
  else
    step "creating a virtual environment in ${VENV##*/}" "check the free disk space" \
      "$PYTHON" -m venv --system-site-packages "$VENV"
    pip=("$VENV/bin/python" -m pip)
  fi
  step "installing the installers" "$NO_DOWNLOAD" install_installers "${pip[@]}"
}

# Whether pip's configuration has what uv does not read, such as a mirror.
has_own_sources() { # PIP...
  "$@" config list |
    grep -E '\.(index-url|extra-index-url|find-links|no-index|constraint|proxy|trusted-host|client-cert)='
}
install_installers() { # PIP...
  local install=("$@" install "${PIP_OPTIONS[@]}" --no-cache-dir --ignore-installed pip 'setuptools>=64' wheel)
  if ! command -v uv && ! has_own_sources "$@"; then
    "${install[@]}" --only-binary uv uv && return
    echo "without uv"
  fi
  "${install[@]}"
}
PIP_OPTIONS=(--disable-pip-version-check --no-input --no-compile)
NO_DOWNLOAD="check the network and the free disk space, then run this again"

# pip_install ARGUMENT...: with uv, which takes a fifth of the time; with pip, where only pip knows the
# sources, and where uv fails.
pip_install() {
  local uv pip=("$VENV/bin/python" -m pip)
  uv=$(command -v uv || echo "$VENV/bin/uv")
  if [ -x "$uv" ] && ! has_own_sources "${pip[@]}"; then
    "$uv" pip install --python "$VENV/bin/python" "$@" && return
    echo "uv failed; now with pip"
  fi
  "${pip[@]}" install "${PIP_OPTIONS[@]}" "$@"
}

# What hrp_ros and an extra of it require, a line each.
requirements() {
  "$VENV/bin/python" - "$EXTRA" <<'PYTHON'
import sys
import setuptools
from distutils.core import run_setup
package = run_setup("setup.py", stop_after="init")
print(*package.install_requires, *package.extras_require[sys.argv[1]], sep="\n")
PYTHON
}

# ROS writes logs below HOME, and hrp_ros meshes; the account of a service may have no HOME.
ensure_home() {
  [ -w "${HOME:-/nonexistent}" ] && return
  export HOME="$VENV/home"
  mkdir -p "$HOME"
}

# Whether a ROS 2 installation is used that was sourced.
has_sourced_ros() {
  [ -n "${ROS_DISTRO:-}" ] && [ "${HRP_ROS_DISTRO:-$ROS_DISTRO}" = "$ROS_DISTRO" ] &&
    [ ! -e "$VENV/.setup/ros" ] && "$VENV/bin/python" -c 'import rclpy' 2>/dev/null
}

install_libraries() {
  make_venv
  ensure_home
  [ -w "$VENV" ] || fail "$VENV belongs to another user" "remove it: sudo rm -r '$VENV'"
  local mark wanted="$VENV/.setup/requirements.txt" ros=()
  if has_sourced_ros; then
    say "using the sourced ROS 2 $ROS_DISTRO"
  else
    [ "$(uname -m)" = x86_64 ] ||
      fail "PyPI has ROS 2 for x86_64 only, not for $(uname -m)" "install ROS 2, source its setup.bash, run this again"
    ros=(-r "$ROS_WHEELS")
  fi
  mark=$(cat setup.py "$ROS_WHEELS" | fingerprint "${ros[@]}")
  is_done "$mark" "libraries-$EXTRA" libraries-test && return
  mkdir -p "$VENV/.setup"
  requirements >"$wanted"
  step "installing libraries${ros[*]:+ and ROS 2 ${DISTRO^}}" "$NO_DOWNLOAD" \
    pip_install -r "$wanted" "${ros[@]}"
  [ ${#ros[@]} = 0 ] || touch "$VENV/.setup/ros"
  mark_done "$mark" "libraries-$EXTRA"
}

build_messages() {
  [ -e "$VENV/.setup/ros" ] || return 0
  local mark
  mark=$(find hrp_msgs/interfaces -type f ! -path '*__pycache__*' -print0 | sort -z | xargs -0 cat |
    fingerprint "$DISTRO")
  is_done "$mark" "messages-$EXTRA" messages-all messages-test messages-test-ros && return
  step "building standard messages that PyPI lacks: ${MESSAGES[*]:-all}" "see the error of the compiler above" \
    "$VENV/bin/python" -m hrp_msgs.interfaces.build "${MESSAGES[@]}"
  mark_done "$mark" "messages-$EXTRA"
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
  } | fingerprint "$PWD")
  is_done "$mark" package && is_installed && return
  step "compiling and installing hrp_ros" "see the error of the compiler above" \
    pip_install --no-build-isolation --no-deps -e .
  mark_done "$mark" package
}

# What is downloaded by apt is unpacked beside what is by uv or pip; only apt may ask for a password.
set_up() {
  LOGS=$(mktemp -d)
  trap clean_up EXIT
  if [ -t 1 ]; then watch_logs & fi
  alone scripts/bootstrap.sh install_apt_packages python3-venv
  beside alone "$ROS_WHEELS" install_libraries
  alone scripts/bootstrap.sh install_apt_packages "${APT_PACKAGES[@]}"
  finish
  ensure_home
  beside alone "$ROS_WHEELS" build_messages
  alone setup.py install_package # its extensions are in this folder
  finish
  clean_up
  trap - EXIT
}

[ -f "$ROS_WHEELS" ] ||
  fail "HRP_ROS_DISTRO is '$DISTRO'" "unset it for Jazzy, or set it to kilted"
[[ $EXTRA =~ ^(view|all|test|test-ros)$ ]] ||
  fail "HRP_ROS_EXTRA is '$EXTRA'" "unset it for all that tests need, or set it to view, all or test-ros"
[ -n "${HRP_ROS_IS_SET_UP:-}" ] || set_up
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  say "ready: source ${VENV##*/}/bin/activate"
fi
