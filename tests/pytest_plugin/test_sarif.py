from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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
