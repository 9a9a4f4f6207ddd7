"""The figures about other tools in docs/comparison.md are those that `gradlife run --full` prints."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from sources import ROOT

SENTENCE = re.compile(
    r"of (\d+) subjects that nothing frees gc and objgraph find a chain to a module for (\d+), a dead end for (\d+), "
    r"no referrer for (\d+)"
)
TABLE = re.compile(r"\| of (\d+) leaked objects.*\n.*\n\| `gc` and objgraph find \| (\d+) \| (\d+) \| (\d+) \|")


@pytest.mark.torch
@pytest.mark.whole
def test_what_python_level_tools_find_is_what_a_run_measures() -> None:
    pytest.importorskip("objgraph")
    command = [sys.executable, "-m", "gradlife", "run", "--full"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=True)
    measured = SENTENCE.search(" ".join(done.stdout.split()))
    shown = TABLE.search((ROOT / "docs" / "comparison.md").read_text("utf-8"))
    assert measured is not None
    assert shown is not None
    assert shown.groups() == measured.groups()
