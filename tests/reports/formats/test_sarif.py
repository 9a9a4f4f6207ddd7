from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabricated import troubled
from fabricated_hunts import CLEAN, CYCLE, EVERYTHING, LEAKING, LOSSES, WAITING, hunt
from gradlife._version import __version__
from gradlife.model.hunt import Patch, StoredAt
from gradlife.patterns import SENTENCES
from gradlife.reports.formats.sarif.document import Log, Result, Rule, sarif_text
from gradlife.reports.formats.sarif.findings import hunt_sarif, rule_of, run_sarif
from gradlife.reports.source_places import Place
from sarif_rules import wrong_in


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program of the made-up hunts."""
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("", encoding="utf-8")
    return tmp_path


def log_of(text: str) -> dict[str, Any]:
    """The run of a valid document."""
    document = json.loads(text)
    assert wrong_in(document) == []
    (run,) = document["runs"]
    return dict(run)


def test_a_finding_is_a_result_with_its_line_its_rule_and_its_fingerprint() -> None:
    run = log_of(hunt_sarif(LEAKING))
    (result,) = run["results"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("GL402", 0, "error")
    assert result["partialFingerprints"] == {"gradlife/v1": "7c1e09ab"}
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "train.py", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 41},
            }
        }
    ]
    assert [one["physicalLocation"]["region"]["startLine"] for one in result["relatedLocations"]] == [60]
    assert result["message"]["text"].startswith("A list of losses keeps the graph of each. Each step leaks")
    assert result["properties"]["kind"] == "growth"
    assert run["tool"]["driver"]["name"] == "gradlife"
    assert run["tool"]["driver"]["version"] == __version__
    assert (run["invocations"][0]["executionSuccessful"], run["invocations"][0]["exitCode"]) == (True, 1)


def test_findings_without_a_line_are_notices() -> None:
    run = log_of(hunt_sarif(EVERYTHING))
    assert [one["ruleId"] for one in run["results"]] == ["GL402"]
    notices = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert notices[:2] == [
        "GL101 ctx keeps an output of its own Function [00ff] has no line of the program",
        "GL505 An object keeps one of its own bound methods [] has no line of the program",
    ]


def test_what_waits_for_the_collector_is_a_warning_unless_it_counts_as_found() -> None:
    waiting = hunt(replace(WAITING, created_at=("train.py:3 in step",)))
    assert [one["level"] for one in log_of(hunt_sarif(waiting))["results"]] == ["warning"]
    assert [one["level"] for one in log_of(hunt_sarif(waiting, is_strict=True))["results"]] == ["error"]


def test_a_patch_is_a_fix_of_the_line_that_stores(project: Path) -> None:
    (project / "train.py").write_text("losses = []\nlosses.append(loss)\n", encoding="utf-8")
    diff = (
        "--- a/train.py\n+++ b/train.py\n@@ -1,2 +1,2 @@\n losses = []\n"
        "-losses.append(loss)\n+losses.append(loss.item())\n"
    )
    patch = Patch(diff, ("losses.append(loss)",), ("losses.append(loss.item())",))
    stored = StoredAt("train.py", 2, "losses.append(loss)")
    (result,) = log_of(hunt_sarif(hunt(replace(LOSSES, stored_at=stored, patch=patch))))["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    ((change,),) = [fix["artifactChanges"] for fix in result["fixes"]]
    assert change["artifactLocation"] == {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 2, "startColumn": 1, "endLine": 3, "endColumn": 1},
            "insertedContent": {"text": "losses.append(loss.item())\n"},
        }
    ]


def test_several_findings_of_one_code_share_a_rule() -> None:
    other = replace(CYCLE, created_at=("train.py:9 in step",))
    again = replace(LOSSES, fingerprint="beef", created_at=("train.py:50 in step",))
    run = log_of(hunt_sarif(hunt(LOSSES, other, again)))
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["GL101", "GL402"]
    assert [one["ruleIndex"] for one in run["results"]] == [1, 0, 1]


def test_a_hunt_that_could_not_tell_says_so() -> None:
    run = log_of(hunt_sarif(hunt(rounds=(), trouble="killed by signal 9")))
    assert run["invocations"][0]["executionSuccessful"] is False
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "killed by signal 9"
    assert log_of(hunt_sarif(CLEAN))["results"] == []


def test_what_contradicts_or_breaks_in_a_run_stands_at_its_story(project: Path) -> None:
    (project / "my stories.py").write_text("", encoding="utf-8")
    report = troubled()
    stories = tuple(replace(one, file="my stories.py", line=3) for one in report.scenarios)
    run = log_of(run_sarif(replace(report, scenarios=stories)))
    assert [(one["ruleId"], one["properties"]["system"]) for one in run["results"]] == [
        ("contradiction", "mini:torch-2.13"),
        ("story-failed", "mini:torch-1.1"),
        ("story-failed", "mini:torch-1.2"),
    ]
    uris = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"]}
    assert uris == {"my%20stories.py"}
    prints = [one["partialFingerprints"]["gradlife/v1"] for one in run["results"]]
    assert len(set(prints)) == 3
    again = log_of(run_sarif(replace(report, scenarios=stories)))
    assert prints == [one["partialFingerprints"]["gradlife/v1"] for one in again["results"]]
    assert log_of(run_sarif(report))["results"] == []
    assert len(log_of(run_sarif(report))["invocations"][0]["toolExecutionNotifications"]) == 3


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_every_code_is_a_rule_with_help(code: str) -> None:
    rule = rule_of(code)
    log = Log("gradlife hunt", (Result(rule, "error", "x", (Place("train.py", 1),), "ff"),), True, 1)
    assert wrong_in(json.loads(sarif_text(log))) == []
    assert rule.help
    assert "{" not in rule.help.replace("{}", "") or "```" in rule.help


def test_files_outside_the_checkout_have_whole_uris(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("ö other") / "x.py"
    other.write_text("", encoding="utf-8")
    assert Place(str(other), 1).uri.startswith("file:///")
    assert Place(str(other), 1).uri.endswith("%C3%B6%20other0/x.py")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project))
    monkeypatch.chdir(other.parent)
    assert Place(str(project / "train.py"), 1).uri == "train.py"


def test_names_with_half_characters_are_written() -> None:
    evil = Rule("GL000", "\udc80", "help")
    text = sarif_text(Log("x", (Result(evil, "error", "a\udcffb", (), "f"),), True, 1))
    assert text.encode("utf-8").decode("utf-8") == text
    assert json.loads(text)["runs"][0]["results"][0]["message"]["text"] == "a\ufffdb"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("version",), "2.0.0", "$.version may not be '2.0.0'"),
        (("runs", 0, "results", 0, "level"), "fatal", "$.runs[0].results[0].level may not be 'fatal'"),
        (
            ("runs", 0, "results", 0, "ruleIndex"),
            1,
            "$.runs[0].results[0] names another rule than it points at",
        ),
        (
            ("runs", 0, "results", 0, "locations", 0, "physicalLocation", "region", "startLine"),
            0,
            "$.runs[0].results[0].locations[0].physicalLocation.region.startLine may not be 0",
        ),
        (
            ("runs", 0, "results", 0, "locations", 0, "physicalLocation", "artifactLocation", "uri"),
            "a b.py",
            "$.runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri may not be 'a b.py'",
        ),
    ],
)
def test_the_checker_sees_what_is_wrong(path: tuple[Any, ...], value: Any, message: str) -> None:
    document = copy.deepcopy(json.loads(hunt_sarif(LEAKING)))
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    assert wrong_in(document) == [message]
