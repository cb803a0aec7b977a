#!/usr/bin/env bash
# Install what this needs and lacks, then simulate a humanoid that walks through a room, show it in a
# browser, and publish its sensors to ROS 2. The address of the page is printed first; where there is
# a display, the page is opened. Ctrl-C ends it.
#
#   bash scripts/demo.sh [--duration SECONDS] [any option of "hrp-sim run"]
#   bash scripts/demo.sh --listen   # with the share of messages that a second process receives

set -euo pipefail
caller=$PWD
export HRP_ROS_EXTRA=view
# shellcheck source=scripts/bootstrap.sh
source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"
cd "$caller" # files named in the options are the caller's
exec "$VENV/bin/hrp-sim" run package://hrp_ros/models/worlds/walking_humanoid.yaml \
  --view --browser --ros "$@"
