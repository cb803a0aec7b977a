#!/usr/bin/env bash
# Install missing requirements, then run the tests; options are passed to pytest:
#   bash scripts/test.sh -k imu

set -euo pipefail
# shellcheck source=scripts/bootstrap.sh
source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"
exec "$VENV/bin/python" -m pytest "$@"
