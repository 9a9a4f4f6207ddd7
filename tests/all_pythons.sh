#!/bin/sh
# Builds gradlife for every CPython of these versions that pyenv has or that is on PATH, each in an environment of its own
# under build/, and runs the tests that need no PyTorch. An interpreter that is left out is named with the reason. Run by
# `make test-all-pythons`; arguments go to pytest.
#
# PYTHONS_ROOT names a folder with another system, of a distribution with newer interpreters, as debootstrap makes it.
# Versions that are not found here are then looked for there: as root, with this checkout mounted into it for as long as
# the tests run. It needs the interpreters with their venv and headers, make and a C++ compiler.
set -u
versions="${VERSIONS:-3.11 3.12 3.13 3.14 3.15}"
tests="tests/heap tests/engine"
[ $# -gt 0 ] && tests=""
failed=0
missing=""

# The newest that pyenv has of a version, else the one on PATH.
find_python() {
  found=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python3 2>/dev/null | sort -V | tail -n 1)
  [ -n "$found" ] || found=$(command -v "python$1")
  echo "$found"
}

# Why an interpreter cannot be used, or nothing.
objection() {
  "$1" - <<'END'
exec(open("gradlife/supported_python.py").read())
refused, instead = objection()
if sys.implementation.name != "cpython":
    print(f"{sys.implementation.name} is no CPython")
elif refused:
    print(f"{refused}: use {instead}")
elif sys.version_info[:2] > NEWEST:
    print("newer than %d.%d: the heap walk does not know how it lays out frames and dicts" % NEWEST)
END
}

for version in $versions; do
  python=$(find_python "$version")
  if [ -z "$python" ]; then
    missing="$missing $version"
    [ -n "${PYTHONS_ROOT:-}" ] || echo "Python $version: skipped, none found"
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

if [ -n "$missing" ] && [ -n "${PYTHONS_ROOT:-}" ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "Python$missing: skipped, only root can use PYTHONS_ROOT"
  else
    # The mounts are in a namespace of their own: they end with it, whatever happens.
    export PYTHONS_ROOT VERSIONS="$missing"
    unshare --mount sh -c '
      mkdir -p "$PYTHONS_ROOT$PWD" && mount --bind "$PWD" "$PYTHONS_ROOT$PWD" &&
        mount -t proc proc "$PYTHONS_ROOT/proc" && mount --rbind /dev "$PYTHONS_ROOT/dev" &&
        exec env -u PYTHONS_ROOT chroot "$PYTHONS_ROOT" sh -c "cd \"\$0\" && exec sh tests/all_pythons.sh \"\$@\"" "$PWD" "$@"
    ' sh "$@" || failed=1
  fi
fi
exit $failed
