#!/usr/bin/env bash
# From nothing to a living robot in ROS 2: sets up what is missing, then simulates a humanoid in
# a room, publishes its sensors, and shows what a second process hears of them. Ctrl-C ends it.
#
#   bash scripts/demo.sh [--duration SECONDS] [any option of "hrp-sim run"]

set -euo pipefail
caller=$PWD
# shellcheck source=scripts/bootstrap.sh
source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"
cd "$caller" # files named in the options are the caller's
exec "$VENV/bin/hrp-sim" run package://hrp_ros/models/worlds/humanoid_in_room.yaml --ros --listen "$@"
