#!/usr/bin/env bash
# Build and install ODE in a container of cibuildwheel, whose distribution has no package of it, with
# the options of Debian's, and copy its licences to where the wheel collects them.
#
#   apt-get source --download-only ode       # once, on Debian or Ubuntu; checks the signature
#   bash scripts/build_ode.sh ode_0.16.2.orig.tar.gz [PREFIX]

set -euo pipefail
sources=$(realpath "$1")
prefix=${2:-/usr/local}
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tar -xzf "$sources" -C "$work" --strip-components=1
(
  cd "$work"
  # Double precision is what hrp_sim/engine/ode needs. libccd is the copy in ODE's sources: contacts of
  # cylinders are computed with it.
  ./configure --quiet --prefix="$prefix" --enable-double-precision --enable-libccd --with-libccd=internal \
    --enable-shared --disable-static --disable-demos
  make -s -j"$(nproc)"
  make -s install
)
cp "$work/LICENSE-BSD.TXT" LICENSE.ode
cp "$work/libccd/BSD-LICENSE" LICENSE.libccd
cp "$work/ou/LICENSE-ZLIB.TXT" LICENSE.ou
[ "$(id -u)" != 0 ] || ldconfig
