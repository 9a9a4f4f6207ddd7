"""examples/: each suite gives what its README says of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from plugin_suites import Ran, run_suite
from sources import ROOT

PROJECT = ROOT / "examples" / "pytest-leaks"

STEP = "test_a_step_leaves_nothing_behind"
MODEL = "test_the_model_dies_with_its_last_name"
FEATURES = "test_features_have_a_length"
LOSS = "test_the_loss_is_a_number"

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project."""
    made: Path = tmp_path_factory.mktemp("example") / "project"
    shutil.copytree(PROJECT, made)
    return made


@pytest.fixture(scope="module")
def leaky(project: Path) -> Ran:
    return run_suite(project, "leaky", "--leaks", environment={"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": ""})


def failed(ran: Ran) -> set[str]:
    return {name.partition("::")[2] for name, word in ran.outcomes.items() if word == "FAILED"}


@pytest.mark.whole
def test_without_options_the_marker_and_the_fixture_catch_what_they_are_asked_for(project: Path) -> None:
    ran = run_suite(project, "leaky")
    assert failed(ran) == {STEP, MODEL}
    assert ran.codes(STEP) == [("new", "GL402")]
    assert "Sequential should be freed when its last name goes, but only the collector frees it" in ran.text


@pytest.mark.whole
def test_every_test_is_checked_where_that_is_asked_for(leaky: Ran) -> None:
    assert failed(leaky) == {STEP, MODEL, FEATURES, LOSS}
    assert {name: leaky.codes(name) for name in (STEP, FEATURES, LOSS)} == {
        STEP: [("new", "GL402")],
        FEATURES: [("new", "GL000")],
        LOSS: [("new", "GL402")],
    }


@pytest.mark.whole
def test_a_leak_is_annotated_beside_its_line(leaky: Ran) -> None:
    lines = (PROJECT / "leaky" / "training.py").read_text(encoding="utf-8").splitlines()
    made = next(number for number, line in enumerate(lines, 1) if "loss = self.model" in line)
    assert f"::error file=leaky/training.py,line={made},title=GL402 " in leaky.text


@pytest.mark.whole
def test_a_baseline_lets_what_is_known_pass(project: Path) -> None:
    known = ("leaky", "--leaks", "--leaks-baseline", "known.json", "-k", FEATURES)
    assert run_suite(project, *known, "--leaks-update-baseline").status == 0
    ran = run_suite(project, *known)
    assert (ran.status, ran.codes(FEATURES)) == (0, [("known", "GL000")])


@pytest.mark.whole
def test_the_mended_suite_passes_in_its_workflow(project: Path) -> None:
    workflow = (PROJECT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    [line] = [line for line in workflow.splitlines() if "pytest mended" in line]
    words = line.partition("run: pytest ")[2].split()
    ran = run_suite(project, *words)
    assert (ran.status, failed(ran)) == (0, set())
    result = json.loads((project / "leaks.json").read_text(encoding="utf-8"))
    assert (result["totals"]["checked"], result["totals"]["leaking"]) == (4, 0)


def test_both_suites_are_one_file() -> None:
    leaky, mended = (PROJECT / name / "test_training.py" for name in ("leaky", "mended"))
    assert leaky.read_text(encoding="utf-8") == mended.read_text(encoding="utf-8")
