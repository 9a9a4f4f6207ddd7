"""The section at the end: one line when quiet, ten of findings, all of them with their traces at -vv; by whose bug it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fabricated_hunts import LOSSES
from gradlife.model.hunt import Explained, FindingKind
from gradlife.pytest_plugin.outcomes import github, messages
from gradlife.pytest_plugin.outcomes.baseline import Baseline, Known, merged
from gradlife.pytest_plugin.outcomes.results import UNSEARCHED, Checked, Entry, Section, Verdict, decode, encode
from gradlife.pytest_plugin.outcomes.summary import SuiteResult, lines

CYCLE = replace(LOSSES, kind=FindingKind.NEEDS_GC)
BUG = replace(LOSSES, diagnosis=replace(LOSSES.diagnosis, library="torch <2.12, pytorch/pytorch#183211: a bug"))
BRIEF = "1 tensor and 65.5 kB a run: GL402 A list of losses keeps the graph of each  [7c1e09ab]"


def checked(name: str, *entries: Entry, **values: object) -> Checked:
    verdict = Verdict.LEAK if entries else Verdict.CLEAN
    return replace(Checked(f"t.py::{name}", "t.py:3", verdict=verdict, entries=entries), **values)  # type: ignore[arg-type]


MIXED = (
    checked("clean"),
    checked("known", Entry(LOSSES, Section.KNOWN, "baseline, until 2999-01-31, gh#123")),
    checked("library", Entry(BUG, Section.LIBRARY)),
    checked("cycle", Entry(CYCLE, Section.CYCLE)),
    checked("new", Entry(LOSSES)),
    checked("cache", explained=(Explained("bounded container", "lru_cache of encode, not full yet"),)),
    checked("odd", verdict=Verdict.NOT_REPEATABLE, trouble="run 3: ValueError: no"),
)


def test_findings_are_named_by_whose_affair_they_are() -> None:
    assert list(lines(SuiteResult(MIXED, Baseline()))) == [
        "7 tests checked: 1 new · 1 library · 1 waiting · 1 known · 1 explained · 1 not repeatable",
        "not repeatable  t.py::odd: run 3: ValueError: no",
        f"new             t.py::new: {BRIEF}",
        f"library         t.py::library: {BRIEF}  (torch <2.12, pytorch/pytorch#183211: a bug)",
        f"waiting         t.py::cycle: {BRIEF}",
        f"known           t.py::known: {BRIEF}  (baseline, until 2999-01-31, gh#123)",
        "explained       t.py::cache: bounded container: lru_cache of encode, not full yet",
    ]


def test_a_quiet_run_has_one_line() -> None:
    assert list(lines(SuiteResult(MIXED, Baseline()), -1)) == list(lines(SuiteResult(MIXED, Baseline())))[:1]


def test_ten_findings_are_shown_unless_more_are_asked_for() -> None:
    result = SuiteResult(tuple(checked(f"test{number}", Entry(LOSSES)) for number in range(14)), Baseline())
    shown = list(lines(result))
    assert (len(shown), shown[0], shown[-1]) == (12, "14 tests checked: 14 new", "... and 4 more, which -vv shows")
    whole = list(lines(result, 2))
    assert sum(line.startswith("new ") for line in whole) == 14
    assert whole[2:6] == [
        "    Tensor float32 [] (made at train.py:41 in step, called from train.py:60 in <module>) is held by",
        "      item 17 of list (20 items), which is held by",
        "      attribute 'history' of Run, which is held by",
        "      global variable 'run' of module __main__",
    ]


def test_nothing_is_said_where_nothing_was_checked() -> None:
    assert list(lines(SuiteResult((), Baseline()))) == []
    assert list(lines(SuiteResult((checked("clean"),), Baseline()))) == ["1 test checked: no leaks"]


def test_entries_of_the_baseline_that_are_past_are_reported() -> None:
    baseline = merged([Known("feedfeedfeed", "GL402", "old", ("t.py::clean",), until="2020-01-01")])
    assert list(lines(SuiteResult((checked("clean"),), baseline))) == [
        "1 test checked: 1 expired in the baseline · 1 unused in the baseline",
        "expired         feedfeed GL402 old (baseline, until 2020-01-01)",
        "unused          feedfeed GL402 old (baseline, until 2020-01-01): take it out, or --leaks-update-baseline",
    ]


def test_a_result_survives_the_path_between_processes() -> None:
    for one in MIXED:
        assert decode(encode(one)) == one


def test_the_headline_counts_what_fails_the_test() -> None:
    both = checked("new", Entry(LOSSES), Entry(BUG, Section.LIBRARY), Entry(LOSSES, Section.KNOWN))
    assert messages.headline(both) == f"2 leaks (held), {BRIEF} and 1 more"


def test_github_hears_of_a_leak_at_the_line_that_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path.parent))
    (tmp_path / "train.py").touch()
    [line] = github.lines(SuiteResult((checked("new", Entry(LOSSES)),), Baseline()), tmp_path)
    start = f"::error file={tmp_path.name}/train.py,line=41,title=GL402 A list of losses keeps the graph of each::"
    assert line.startswith(f"{start}t.py::new%0A{BRIEF}%0ATensor float32 [] (made at train.py:41")
    assert "\n" not in line


def test_github_hears_of_no_line_outside_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It showed nothing for `../../train.py`."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "checkout"))
    (tmp_path / "checkout").mkdir()
    (tmp_path / "train.py").touch()
    (tmp_path / "checkout" / "t.py").touch()
    suite = SuiteResult((checked("new", Entry(LOSSES)),), Baseline())
    [line] = github.lines(suite, tmp_path / "checkout", folder=tmp_path)
    assert line.startswith("::error file=t.py,line=3,title=")


def test_github_hears_of_it_at_the_test_where_that_line_is_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "t.py").touch()
    [line] = github.lines(SuiteResult((checked("new", Entry(LOSSES), mode="warn"),), Baseline()), tmp_path)
    assert line.startswith("::warning file=t.py,line=3,title=")


def test_tests_after_which_nothing_was_searched_are_named_once() -> None:
    one, two = (checked(name, limits=(UNSEARCHED,)) for name in ("one", "two"))
    rows = list(lines(SuiteResult((one, two, replace(one, phase="teardown")), Baseline())))
    words = "memory of C++ was not searched after 2 tests that took more memory: t.py::one and others"
    assert rows == ["2 tests checked: no leaks", f"limit           {words}; run fewer tests at once"]
    assert decode(encode(one)).limits == (UNSEARCHED,)
