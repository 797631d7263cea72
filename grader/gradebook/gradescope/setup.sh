#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the container: it installs the grader.
set -euo pipefail

source_dir="${GRADE_ROOT:-/autograder}/source"
cd "$source_dir"

find_python() {
  local candidate
  for candidate in python@PYTHON@ python3.14 python3.13 python3.12 python3.11 python3; do
    if command -v "$candidate" >/dev/null 2>&1 && "$candidate" -c \
      'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
}

python="$(find_python)"
if [ -z "$python" ] && command -v apt-get >/dev/null 2>&1; then
  apt-get update
  for wanted in python@PYTHON@ python3.12 python3.11; do
    if apt-get install -y --no-install-recommends "$wanted" "$wanted-venv"; then break; fi
  done
  python="$(find_python)"
fi
if [ -n "$python" ]; then
  "$python" -m venv venv
else
  # The image's own Python is too old and its packages have no other: fetch one.
  python3 -m pip install --quiet --target uv uv
  uv/bin/uv venv --seed --python @PYTHON@ venv
fi

venv/bin/python -m pip install --no-cache-dir --constraint constraints.txt ./shardgrade-*.whl
# For whoever reads the log of this build: does the container have what confinement needs?
GRADE_COURSE="$source_dir/course" venv/bin/grade doctor || true
