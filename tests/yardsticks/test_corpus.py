"""The judge of a corpus, on labels and reports that are made up."""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.corpus.cases import Case, CaseError, bare, kind_of, read_case, write_copy
from benchmarks.corpus.judge import judge, total
from benchmarks.corpus.paths import expected_names, missing, trace_words
from fabricated_hunts import CLEAN, CYCLE, EVERYTHING, LEAKING, WAITING, hunt
from gradlife.model.hunt import Control, HuntReport
from gradlife.reports.formats.json.document import hunt_text
from sources import ROOT

CASE = '''
"""A list grows

Source: none
"""
from types import SimpleNamespace
META = dict(slug="x", leaks=True, leak_kind="growth", holder="run.history", expected_path=["run", ".history (list)", "[i]"])
def setup():
    return SimpleNamespace(history=[])
def step(state, i):
    state.history.append(i)
'''


def case(text: str, folder: Path) -> Case:
    path = folder / "leaking_list.py"
    path.write_text(text, encoding="utf-8")
    return read_case(path)


def labelled(kind: str | None, *path: str, may_need_gc: bool = False) -> Case:
    return Case("x", Path("x.py"), kind, may_need_gc, path, ast.Module([], []))


def document(report: HuntReport) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(hunt_text(report))
    return found


# --- labels and copies ---


def test_a_case_is_read_without_being_run(tmp_path: Path) -> None:
    found = case(CASE + "raise SystemExit\n", tmp_path)
    assert (found.slug, found.kind, found.may_need_gc) == ("leaking_list", "growth", False)
    assert found.expected_path == ("run", ".history (list)", "[i]")


def test_a_copy_has_neither_label_nor_docstring_nor_name(tmp_path: Path) -> None:
    copy = write_copy(bare(case(CASE, tmp_path).tree), tmp_path, random.Random(1))
    text = copy.read_text(encoding="utf-8")
    assert "META" not in text
    assert "Source" not in text
    assert "def step(state, i):" in text
    assert "leaking" not in copy.name


@pytest.mark.parametrize(
    ("meta", "kind"),
    [
        ({"leaks": False, "leak_kind": None}, None),
        ({"leaks": True, "leak_kind": "growth"}, "growth"),
        ({"leaks": True, "leak_kind": "cycle", "collectable": True}, "needs-gc"),
        ({"leaks": True, "leak_kind": "cycle", "collectable": False}, "never"),
        ({"leaks": True, "leak_kind": "retained"}, "retained"),
        ({"leaks": True, "leak_kind": "native"}, "native"),
    ],
)
def test_a_label_asks_for_a_kind_of_finding(meta: dict[str, Any], kind: str | None) -> None:
    assert kind_of(meta) == kind


@pytest.mark.parametrize(
    "text", ["", "META = 3", "META = dict(leaks=True)", "META = dict(leaks=True, leak_kind='x')", "("]
)
def test_what_has_no_label_is_no_case(text: str, tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"leaking_list\.py is no case"):
        case(text, tmp_path)


# --- judging ---


@pytest.mark.parametrize(
    ("kind", "report", "outcome"),
    [
        ("growth", LEAKING, "right"),
        ("growth", EVERYTHING, "right"),
        ("never", LEAKING, "wrong kind"),
        ("never", hunt(CYCLE), "right"),
        ("growth", CLEAN, "missed"),
        ("needs-gc", hunt(WAITING), "right"),
        ("needs-gc", LEAKING, "wrong kind"),
        ("growth", hunt(WAITING), "wrong kind"),
        (None, CLEAN, "right"),
        (None, hunt(WAITING), "false alarm"),
        (None, LEAKING, "false alarm"),
        (None, hunt(rounds=()), "broken"),
    ],
)
def test_the_first_finding_must_be_of_the_kind_that_the_label_asks_for(
    kind: str | None, report: HuntReport, outcome: str
) -> None:
    assert judge(labelled(kind), "step", document(report), report.exit_status).outcome == outcome


def test_a_clean_case_with_harmless_cycles_may_be_reported_to_need_the_collector_and_nothing_stronger() -> None:
    lenient = labelled(None, may_need_gc=True)
    assert judge(lenient, "step", document(hunt(WAITING)), 0).is_right
    assert not judge(lenient, "step", document(LEAKING), 1).is_right


def test_the_fixed_variant_of_a_leak_must_be_clean() -> None:
    assert judge(labelled("growth"), "fixed_step", document(CLEAN), 0).is_right
    assert judge(labelled("growth"), "fixed_step", document(LEAKING), 1).outcome == "false alarm"


def test_a_hunt_without_a_report_or_with_another_exit_status_is_broken() -> None:
    none = judge(labelled("growth"), "step", None, -9)
    assert (none.outcome, none.said, none.controls_right) == ("broken", "exit status -9", False)
    assert judge(labelled("growth"), "step", document(LEAKING), 0).said == "exit status 0, but the report says 1"


def test_controls_are_right_only_where_there_are_some() -> None:
    assert judge(labelled(None), "step", document(CLEAN), 0).controls_right
    assert not judge(labelled(None), "step", document(replace(CLEAN, controls=())), 0).controls_right
    wrong = replace(LEAKING, controls=(Control("twin", "clean", "growth"),))
    assert not judge(labelled("growth"), "step", document(wrong), 3).controls_right


def test_totals_count_cases_paths_and_time() -> None:
    path = ("run", ".history")
    runs = [
        judge(labelled("growth", *path), "step", document(LEAKING), 1),
        judge(labelled("growth", *path), "fixed_step", document(CLEAN), 0),
        judge(labelled("growth", ".nowhere"), "step", document(LEAKING), 1),
        judge(labelled("native"), "step", None, 1),
        judge(labelled(None), "step", document(CLEAN), 0),
    ]
    sums = total([replace(one, seconds=float(number)) for number, one in enumerate(runs)])
    assert (sums.leaking, sums.found, sums.clean, sums.clean_right, sums.fixed, sums.fixed_right) == (3, 2, 1, 1, 1, 1)
    assert (sums.paths, sums.paths_right, sums.runs, sums.controls_right) == (2, 1, 5, 4)
    assert (sums.median_seconds, sums.longest_seconds, sums.is_done) == (2.0, 4.0, False)
    assert total(runs[:2]).is_done


# --- paths ---


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (["state (SimpleNamespace)", ".history (list)", "[i] (0-dim Tensor 'loss')"], ["state", "history"]),
        (["(garbage cycle)", "type 'Masked'", ".__dict__['forward'] (function)", ".__closure__ (cell)", "Tensor mask"],
         ["Masked", "forward", "mask"]),
        (["coroutine frame of handle", "f_locals['image'] (Tensor)", "saved activations"], ["handle", "image"]),
        (["module global CACHE (dict)", "[(ptr, version)]", "Tensor repacked"], ["CACHE"]),
        (["._modules['1'] (ReLU)", "._hooks (OrderedDict)", "[id] (bound method A.b)"], ["_modules", "1", "_hooks"]),
        (["[0]['params'][0] (Parameter); also .state (dict)", "exp_avg (Tensor)"], ["params"]),
        ([".owning_module / _root Node", "Node links"], ["_root|owning_module"]),
        ([".__closure__ (cell 'self')", "GatedNet"], ["self"]),
        (["(no Python referrer: reference count too high)", "Tensor out"], []),
    ],
)  # fmt: skip
def test_a_label_asks_for_attributes_keys_and_variables(path: list[str], names: list[str]) -> None:
    assert ["|".join(sorted(one)) for one in expected_names(path)] == names


def trace(*steps: str, cycle: tuple[str, ...] = ()) -> dict[str, Any]:
    """Steps such as ``list len 3: [0]``."""

    def row(text: str) -> dict[str, str]:
        thing, _, via = text.partition(": ")
        name, _, label = thing.partition(" ")
        return {"object": name, "label": label, "via": via}

    return {"steps": [row(one) for one in steps], "cycle": [row(one) for one in cycle], "object": "Tensor", "label": ""}


def test_names_must_come_in_order() -> None:
    found = trace("module __main__: global variable 'state'", "Run: .history", "list len 3: [0]", "dict: ['0.weight']")
    assert missing(["state", ".history", "['0.weight']"], found) == []
    assert missing([".history", "state"], found) == ["state"]
    assert missing(["state", ".nowhere", ".history"], found) == ["nowhere"]


def test_a_name_is_a_whole_word() -> None:
    assert missing([".loss"], trace("Run: .losses")) == ["loss"]


def test_a_cycle_may_be_reported_from_anywhere_in_it() -> None:
    found = trace(cycle=("function helper: closure variable 'is_leaf'", "function <lambda>: closure variable 'batch'"))
    assert missing([".batch", "function helper", "cell 'is_leaf'"], found) == []
    assert "helper" in trace_words(found)


# --- the command ---


def test_a_folder_that_is_not_there_is_said_in_a_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.corpus", str(tmp_path / "none")]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    done = subprocess.run(command, cwd=ROOT, env=path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"there is no folder {tmp_path / 'none'}: name the one that has the labelled programs"
    )
