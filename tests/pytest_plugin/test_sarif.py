from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabricated_hunts import LOSSES
from gradlife.model.hunt import Patch
from gradlife.pytest_plugin.outcomes.baseline import Baseline
from gradlife.pytest_plugin.outcomes.github import lines
from gradlife.pytest_plugin.outcomes.results import Checked, Entry
from gradlife.pytest_plugin.outcomes.sarif import text
from gradlife.pytest_plugin.outcomes.summary import SuiteResult
from plugin_suites import run_suite
from sarif_rules import wrong_in

pytestmark = pytest.mark.torch

SUITE = """
    import pytest
    import torch

    kept = []

    @pytest.mark.no_leaks
    def test_leaks():
        kept.append(torch.ones(1000))

    @pytest.mark.no_leaks
    def test_is_clean():
        torch.ones(1000)
    """


def log_of(folder: Path) -> dict[str, Any]:
    """The run of a valid document."""
    document = json.loads((folder / "leaks.sarif").read_text("utf-8"))
    assert wrong_in(document) == []
    return dict(document["runs"][0])


@pytest.mark.whole
def test_a_new_leak_is_a_result_at_a_line_of_the_suite(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "--leaks-sarif=leaks.sarif", test_a=SUITE)
    assert (ran.status, ran.outcome("test_leaks")) == (1, "FAILED")
    log = log_of(tmp_path)
    (result,) = log["results"]
    (finding,) = ran.checked("test_leaks")["findings"]
    assert (result["ruleId"], result["level"]) == (finding["code"], "error")
    assert result["partialFingerprints"] == {"gradlife/v1": finding["fingerprint"]}
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "test_a.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] in (8, 9)
    assert "test_a.py::test_leaks leaks" in result["message"]["text"]
    assert log["invocations"][0]["exitCode"] == 1
    assert "written to leaks.sarif" in ran.text


@pytest.mark.whole
def test_a_known_leak_is_left_out_and_one_that_is_only_reported_is_a_warning(tmp_path: Path) -> None:
    run_suite(tmp_path, "--leaks-baseline=known.json", "--leaks-update-baseline", test_a=SUITE)
    ran = run_suite(tmp_path, "--leaks-baseline=known.json", "--leaks-sarif=leaks.sarif")
    assert (ran.status, log_of(tmp_path)["results"]) == (0, [])
    result = SUITE.replace("@pytest.mark.no_leaks", "")
    ran = run_suite(tmp_path, "--leaks=warn", "--leaks-sarif=leaks.sarif", test_a=result)
    assert [one["level"] for one in log_of(tmp_path)["results"]] == ["warning"]


PATCH = Patch("--- a/store.py\n+++ b/store.py\n@@ -1,1 +1,1 @@\n-x.append(y)\n+x.append(y.item())\n", (), ())


def suite_of(**changes: Any) -> SuiteResult:
    """A test of a project whose leak was made at line 3 of make.py."""
    finding = replace(LOSSES, created_at=("make.py:3 in make",), stored_at=None, **changes)
    return SuiteResult((Checked("test_a.py::test_x", place="test_a.py:1", entries=(Entry(finding),)),), Baseline())


@pytest.mark.parametrize(("files", "fixed"), [(("make.py", "store.py"), ["store.py"]), (("make.py",), [])])
def test_a_fix_names_the_file_that_its_lines_are_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], fixed: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    for name in files:
        (tmp_path / name).write_text("x.append(y)\n" * 3, encoding="utf-8")
    (result,) = json.loads(text(suite_of(patch=PATCH), tmp_path, 1))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "make.py"
    changes = [change for fix in result.get("fixes", []) for change in fix["artifactChanges"]]
    assert [change["artifactLocation"]["uri"] for change in changes] == fixed


def test_lines_of_the_program_are_named_from_the_folder_where_pytest_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    folder = tmp_path / "package"
    folder.mkdir()
    for path in (folder / "make.py", tmp_path / "test_a.py"):
        path.write_text("\n" * 3, encoding="utf-8")
    (line,) = lines(suite_of(), tmp_path, folder)
    assert line.startswith("::error file=package/make.py,line=3,")
