#!/usr/bin/env bash
# Install missing requirements, then make the documentation as a site: build/site/index.html.
# With --serve, serve it on this machine until Ctrl-C; the address is printed.
# Warnings are errors; other options are passed to sphinx-build.

set -euo pipefail
# shellcheck source=scripts/bootstrap.sh
source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"
SITE=build/site
SERVE=
OPTIONS=()
for option; do
  if [ "$option" = --serve ]; then SERVE=yes; else OPTIONS+=("$option"); fi
done
"$VENV/bin/python" -m sphinx --fail-on-warning --keep-going --quiet "${OPTIONS[@]}" docs $SITE
if [ -n "$SERVE" ]; then # on a port that is free
  exec "$VENV/bin/python" -u -m http.server --bind 127.0.0.1 --directory $SITE 0
fi
