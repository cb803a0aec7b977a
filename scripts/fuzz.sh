#!/usr/bin/env bash
# Install missing requirements, then fuzz the readers: bash scripts/fuzz.sh --all --minutes 60 --jobs 2
# Failures are saved in build/fuzz, and the exit status is 1. See docs/safety.md.

set -euo pipefail
# shellcheck source=scripts/bootstrap.sh
source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"
"$VENV/bin/python" -c 'import atheris' 2>/dev/null || pip_install "the fuzzer" 'atheris>=2.3'
export PYTHONPATH="$PWD/test${PYTHONPATH:+:$PYTHONPATH}" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec nice -n 10 "$VENV/bin/python" -m fuzz "$@"
