#!/usr/bin/env bash
# Install missing requirements, then run the tests; other options are passed to pytest:
#   bash scripts/test.sh            all that a change can break
#   bash scripts/test.sh --quick    a part of them, in about a minute
#   bash scripts/test.sh --all      also slow ones: more cases of the same
#   bash scripts/test.sh -k imu

set -euo pipefail
# shellcheck source=scripts/bootstrap.sh
source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"
# Kinematics, shapes, sensors, control and world files, but no processes, browsers or nodes.
QUICK=(test/model/{description,files,kinematics,shapes,validate} test/sim/{control,motion,sensors,world})
selected=()
case ${1:-} in
  --quick) selected=("${QUICK[@]}") && shift ;;
  --all) selected=(-m "") && shift ;;
esac
# Tests write thousands of small files, and would wait for a disk.
if [ -z "${TMPDIR:-}" ] && ! findmnt -no OPTIONS /dev/shm | grep -qw noexec &&
  [ "$(df --output=avail /dev/shm | tail -n 1)" -gt 2000000 ]; then # [KiB]
  export TMPDIR=/dev/shm
fi
# Hundreds of processes import the same modules, which pytest rewrites, too.
unset PYTHONDONTWRITEBYTECODE
exec "$VENV/bin/python" -m pytest "${selected[@]}" "$@"
