#!/usr/bin/env bash
# Install missing requirements, then make the documentation as a site: build/site/index.html.
# Warnings are errors; options are passed to sphinx-build.

set -euo pipefail
# shellcheck source=scripts/bootstrap.sh
source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"
exec "$VENV/bin/python" -m sphinx --fail-on-warning --keep-going --quiet "$@" docs build/site
