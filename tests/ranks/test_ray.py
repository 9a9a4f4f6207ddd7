"""The example for Ray: actors leave their reports in a folder, and `gradlife merge` makes one of them."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sources import ROOT

#: Any folder of that name on the path would pass for the module.
HAS_RAY = any(one.metadata["Name"] == "ray" for one in importlib.metadata.distributions(name="ray"))

pytestmark = [
    pytest.mark.torch,
    pytest.mark.whole,
    pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed"),
]


def test_the_reports_of_actors_are_merged_and_name_the_one_that_leaks(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    example = ROOT / "docs" / "examples" / "ray_actors.py"
    subprocess.run([sys.executable, str(example), str(folder)], cwd=tmp_path, check=True, timeout=900)
    assert sorted(path.name for path in folder.iterdir()) == ["rank-0.json", "rank-1.json"]
    merge = [sys.executable, "-m", "gradlife", "merge", "--json", "merged.json", "--fail-on", "leak", "reports"]
    done = subprocess.run(merge, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    report = json.loads((tmp_path / "merged.json").read_text())
    assert (done.returncode, report["verdict"], report["world_size"]) == (1, "leak", 2)
    assert [(row["ranks"], row["verdict"]) for row in report["ranks"]] == [("0", "clean"), ("1", "leak")]
    assert [finding["on_ranks"]["ranks"] for finding in report["findings"]] == ["1"]
    assert "rank 1 of 2 only" in done.stderr + done.stdout
