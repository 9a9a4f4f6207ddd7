"""`make test` runs the tests in parts: each file of tests is in exactly one of them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from sources import ROOT


def parts() -> list[list[str]]:
    """Return the arguments of each part that the command runs."""
    done = subprocess.run(["make", "-n", "test-all"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=900)
    found = re.search(r"^for part in (.*?); do ", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout
    return [part.split() for part in shlex.split(found[1])]


def files_of(part: list[str]) -> set[Path]:
    """Return the files of tests that pytest finds for these arguments."""
    ignored = [ROOT / word.removeprefix("--ignore=") for word in part if word.startswith("--ignore=")]
    folders = [ROOT / word for word in part if not word.startswith("-")]
    found = {file for folder in folders for file in folder.rglob("test_*.py")}
    return {file for file in found if not any(file.is_relative_to(folder) for folder in ignored)}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_every_file_of_tests_is_in_one_part() -> None:
    counts = Counter(file for part in parts() for file in files_of(part))
    every = set((ROOT / "tests").rglob("test_*.py"))
    assert every - set(counts) == set()
    assert [file for file, count in counts.items() if count > 1] == []
