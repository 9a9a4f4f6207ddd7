#!/bin/sh
# Builds gradlife for every CPython of these versions that pyenv has or that is on PATH, each in an environment of its own
# under build/, and runs the tests that need no PyTorch. An interpreter that is left out is named with the reason. Run by
# `make test-all-pythons`; arguments go to pytest.
set -u
versions="3.11 3.12 3.13 3.14"
tests="tests/heap tests/engine"
[ $# -gt 0 ] && tests=""
failed=0

# The newest that pyenv has of a version, else the one on PATH.
find_python() {
  found=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python3 2>/dev/null | sort -V | tail -n 1)
  [ -n "$found" ] || found=$(command -v "python$1")
  echo "$found"
}

# Why an interpreter cannot be used, or nothing.
objection() {
  "$1" - <<'END'
import sys, sysconfig
if sys.implementation.name != "cpython":
    print(f"{sys.implementation.name} is no CPython")
elif sysconfig.get_config_var("Py_GIL_DISABLED"):
    print("a free-threaded build: gradlife reads objects under the interpreter lock, which it has not")
elif sys.version_info[:2] > (3, 13):
    print("newer than 3.13: the heap walk does not know how it lays out frames and dicts")
END
}

for version in $versions; do
  python=$(find_python "$version")
  if [ -z "$python" ]; then
    echo "Python $version: skipped, none found"
    continue
  fi
  reason=$(objection "$python")
  if [ -n "$reason" ]; then
    echo "Python $version ($python): skipped, $reason"
    continue
  fi
  home=$PWD/build/python$version
  echo "Python $version ($python)"
  [ -x "$home/bin/python" ] || "$python" -m venv "$home" || exit 1
  "$home/bin/python" -m pip --disable-pip-version-check install --quiet \
    scikit-build-core cmake ninja greenlet jinja2 numpy packaging rich psutil pytest pytest-xdist hypothesis &&
    PATH=$home/bin:$PATH "$home/bin/python" -m pip --disable-pip-version-check install --quiet \
      --no-build-isolation --no-deps --editable . &&
    "$home/bin/python" -m pytest -q -p no:cacheprovider -m "not torch and not slow" $tests "$@" || failed=1
done
exit $failed
