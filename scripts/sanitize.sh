#!/usr/bin/env bash
# Compile the C code with strict warnings, then run the tests that exercise it under
# AddressSanitizer and UndefinedBehaviorSanitizer: bash scripts/sanitize.sh [TEST...]
# Nothing is written into the source tree. See docs/safety.md.

set -euo pipefail
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "${PY:-}" ]; then # or another Python with all requirements of the tests
  # shellcheck source=scripts/bootstrap.sh
  source scripts/bootstrap.sh
  PY="$VENV/bin/python"
fi
say() { printf '[sanitize] %s\n' "$*"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

WARNINGS=(-Wall -Wextra -Werror -Wconversion -Wshadow -Wstrict-prototypes -Wold-style-definition
  -Wpointer-arith -Wvla -Wundef -Wformat=2 -Wnull-dereference -Wdouble-promotion)
GCC_WARNINGS=(-Wlogical-op -Wduplicated-cond -Wclobbered -Wjump-misses-init)
TESTS=(test/sim/ode test/sim/physics/test_{absurd_bodies,drives,free_motion,gears}.py
  test/sim/physics/test_{joint_friction,wrenches}.py
  test/sim/hostile/test_hostile_numbers.py test/sim/hostile/test_hostile_states.py
  test/sim/sensors/test_{force,imu,joint_and_odometry,probes}.py
  test/model/collision/test_collision_shapes.py test/msgs/node/test_sender.py
  test/msgs/convert/test_cdr.py
  test/model/kinematics/test_kinematics_{batch,extension}.py
  test/model/readers/test_number_list.py test/model/readers/yaml/test_yaml_tree.py
  test/model/readers/vrml/test_tokens.py test/model/readers/vrml/test_parser.py)

# Every compiler that is there, with all warnings as errors, and no file left out.
compile_strictly() {
  local include compiler file
  include=$("$PY" -c 'import sysconfig; print(sysconfig.get_path("include"))')
  for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || { say "no $compiler here"; continue; }
    local flags=("${WARNINGS[@]}")
    [ "$compiler" = gcc ] && flags+=("${GCC_WARNINGS[@]}")
    say "$compiler ${flags[*]}"
    for file in hrp_sim/engine/ode/core/*.c hrp_sim/sensors/*.c hrp_msgs/*/*.c hrp_model/*/*.c hrp_model/readers/yaml/*.c; do
      "$compiler" -O2 -std=c11 -fPIC -isystem "$include" "${flags[@]}" -c "$file" -o "$work/object.o"
    done
  done
}

# A copy of the tree with instrumented extensions; those that setup.py may leave out must be there.
build_sanitized() {
  say "building with AddressSanitizer and UndefinedBehaviorSanitizer ..."
  mkdir "$work/tree"
  cp -r hrp_model hrp_sim hrp_msgs hrp_ros models scripts test docs setup.py setup.cfg pyproject.toml package.xml \
    README.md resource launch config "$work/tree"
  find "$work/tree" -name '*.so' -delete
  local sanitize="-fsanitize=address,undefined,float-cast-overflow"
  # shellcheck disable=SC2046
  (cd "$work/tree" &&
    CC=gcc CFLAGS="-g -fno-omit-frame-pointer $sanitize -fno-sanitize-recover=all" \
      LDFLAGS="-fsanitize=address,undefined" "$PY" setup.py -q build_ext --inplace)
  local found
  found=$(find "$work/tree"/hrp_* -name '*.so' | wc -l)
  [ "$found" = 8 ] || {
    say "only $found of 8 extensions were built"
    return 1
  }
}

# Run Python in the copy. Python's own allocator would hide what is done to its memory.
sanitized() {
  (cd "$work/tree" && env PYTHONPATH="$PWD:$PWD/test:$PWD/test/support" PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1 \
    LD_PRELOAD="$(gcc -print-file-name=libasan.so)" UBSAN_OPTIONS=print_stacktrace=1 "$PY" "$@")
}

# Python and numpy do not free all memory at exit: only allocations of our C code count.
find_leaks() {
  say "looking for leaks ..."
  ASAN_OPTIONS=fast_unwind_on_malloc=0:malloc_context_size=16 LSAN_OPTIONS=exitcode=0 \
    sanitized scripts/soak.py memory --cycles 100 --steps 1000 --sensors 0 --bound 100000 2>"$work/leaks"
  grep -q 'SUMMARY: AddressSanitizer: .* leaked' "$work/leaks" || {
    say "LeakSanitizer did not run"
    cat "$work/leaks"
    return 1
  }
  awk 'BEGIN { RS = "" } / hrp_(sim|model)\/[a-z\/]*[a-z_]+\.[ch]:/ { print; found = 1 }
    END { exit found }' "$work/leaks" || return 1
  say "no leaks"
}

compile_strictly
build_sanitized
[ $# -gt 0 ] || set -- "${TESTS[@]}"
say "running the tests: $*"
ASAN_OPTIONS=detect_leaks=0 sanitized -m pytest -q -p no:cacheprovider "$@"
find_leaks
