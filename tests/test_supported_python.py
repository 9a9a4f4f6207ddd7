"""Which Pythons are refused, when gradlife is imported and when it is built."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from gradlife.supported_python import FIRST_OF_3_14, NEWEST, OLDEST, objection
from sources import ROOT


@pytest.mark.parametrize(
    ("pretence", "words"),
    [
        (
            "sys.abiflags = 't'; sys.version_info = (3, 14, 8)",
            "Python 3.14.8 is free-threaded, and gradlife reads objects under the interpreter lock "
            "(try: the ordinary build of Python 3.14)",
        ),
        (
            "sys.version_info = (3, 14, 4)",
            "Python 3.14.4 has a collector that gradlife cannot read (try: Python 3.14.5 or later, or 3.13)",
        ),
    ],
    ids=["free-threaded", "incremental collector"],
)
def test_a_python_that_cannot_be_read_is_refused_at_import_in_one_line(pretence: str, words: str) -> None:
    code = f"import sys; {pretence}\ntry:\n    import gradlife\nexcept ImportError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900)
    assert (done.stdout, done.stderr) == (words + "\n", "")


@pytest.mark.parametrize("version", [(3, 7, 17), (3, 11, 0), (3, 13, 9), (3, 14, 5), (3, 15, 0), (3, 16, 0)])
def test_any_other_python_is_let_through(version: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(sys, "abiflags", "")
    assert objection() == ("", "")


def test_the_range_is_said_alike_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    after = NEWEST[1] + 1
    assert project["project"]["requires-python"] == f">=3.{OLDEST[1]},<3.{after}"
    classifiers = [name for name in project["project"]["classifiers"] if "Python :: 3." in name]
    assert [name.rpartition(".")[2] for name in classifiers] == [str(minor) for minor in range(OLDEST[1], after)]
    walk = (ROOT / "csrc/heap_py/interpreter/interpreter.c").read_text("utf-8")
    assert f"PY_VERSION_HEX < 0x03{OLDEST[1]:02x}0000 || PY_VERSION_HEX >= 0x03{after:02x}0000" in walk
    assert f"PY_VERSION_HEX < 0x030e{FIRST_OF_3_14[2]:02x}00" in walk
    assert f"VERSION_LESS 3.14.{FIRST_OF_3_14[2]})" in (ROOT / "CMakeLists.txt").read_text("utf-8")
    tried = " ".join(f"3.{minor}" for minor in range(OLDEST[1], after))
    assert f"VERSIONS:-{tried}}}" in (ROOT / "tests/all_pythons.sh").read_text("utf-8")
