#!/usr/bin/env bash
# Sets up what is missing, then runs the tests. Options go to pytest: bash scripts/test.sh -k imu

set -euo pipefail
# shellcheck source=scripts/bootstrap.sh
source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"
exec "$VENV/bin/python" -m pytest "$@"
