"""Baselines: what is known is let pass, for as long as it was said; files of divided suites become one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from fabricated_hunts import LOSSES
from gradlife.errors import UsageError
from gradlife.model.hunt import Finding
from gradlife.model.trace import Ledger, Lifetime, PathStep, Trace
from gradlife.pytest_plugin.outcomes.baseline import Baseline, Known, bare, dumps, merged, read, updated
from gradlife.pytest_plugin.outcomes.results import Checked, Entry, Section, Verdict
from plugin_suites import Ran, run_suite

TEST, OTHER = "tests/test_a.py::test_step", "tests/test_b.py::test_other"
KNOWN = Known(LOSSES.fingerprint, "GL402", "a list of losses", (TEST,), "upstream", "gh#123", "2999-01-31")


def leaking(nodeid: str, finding: Finding = LOSSES) -> Checked:
    return Checked(nodeid, entries=(Entry(finding, Section.NEW),))


def test_a_known_leak_is_let_pass_with_its_reason_wherever_it_comes() -> None:
    baseline = merged([KNOWN])
    words = "baseline, until 2999-01-31, gh#123: upstream"
    assert baseline.excuse(LOSSES, TEST) == baseline.excuse(LOSSES, OTHER) == (True, words)


def test_another_leak_is_not() -> None:
    assert merged([KNOWN]).excuse(replace(LOSSES, fingerprint="0123456789abcdef"), TEST) == (False, "")


def test_an_entry_by_hand_has_the_digits_that_a_summary_shows_until_it_is_updated() -> None:
    baseline = merged([replace(KNOWN, fingerprint=LOSSES.fingerprint[:8])])
    assert baseline.excuse(LOSSES, TEST) == merged([KNOWN]).excuse(LOSSES, TEST)
    assert baseline.unused([leaking(TEST)]) == []
    assert updated(baseline, [leaking(TEST)]).entries == {LOSSES.fingerprint: KNOWN}


def test_fewer_digits_name_no_leak() -> None:
    baseline = merged([replace(KNOWN, fingerprint=LOSSES.fingerprint[:7])])
    assert baseline.excuse(LOSSES, TEST) == (False, "")
    assert set(updated(baseline, [leaking(TEST)]).entries) == {LOSSES.fingerprint}


def test_an_entry_that_has_expired_lets_nothing_pass_and_says_so() -> None:
    baseline = merged([replace(KNOWN, until="2020-01-31")])
    assert baseline.excuse(LOSSES, TEST) == (False, "expired: baseline, until 2020-01-31, gh#123: upstream")
    assert [one.fingerprint for one in baseline.expired] == [LOSSES.fingerprint]


def test_a_leak_without_a_path_is_known_in_its_own_test_only() -> None:
    """Its fingerprint says little more than its type."""
    trace = Trace("Tensor", "float32 [3]", Lifetime.NEVER, (), (), Ledger(1, ()))
    assert merged([KNOWN]).excuse(replace(LOSSES, trace=trace), TEST)[0]
    assert not merged([KNOWN]).excuse(replace(LOSSES, trace=trace), OTHER)[0]


def test_an_entry_is_unused_when_all_its_tests_were_checked_and_none_leaked_so() -> None:
    baseline = merged([KNOWN])
    assert baseline.unused([leaking(TEST)]) == []
    assert baseline.unused([leaking(OTHER, replace(LOSSES, fingerprint="00"))]) == []
    assert baseline.unused([Checked(TEST)]) == [KNOWN]


@pytest.mark.parametrize("verdict", [Verdict.INCONCLUSIVE, Verdict.NOT_REPEATABLE])
def test_a_test_that_was_not_judged_leaves_its_entry_as_it_is(verdict: Verdict) -> None:
    baseline = merged([KNOWN])
    unjudged = replace(Checked(TEST), verdict=verdict)
    assert baseline.unused([unjudged]) == []
    assert updated(baseline, [unjudged]) == baseline


def test_an_entry_that_names_no_test_is_never_unused() -> None:
    baseline = merged([replace(KNOWN, tests=())])
    assert baseline.unused([Checked(OTHER)]) == []


@pytest.mark.parametrize(
    ("nodeid", "name"),
    [
        ("a.py::test_x@gpu", "a.py::test_x"),
        ("a.py::test_x[1]@gpu", "a.py::test_x[1]"),
        ("a.py::test_x[1@2]", "a.py::test_x[1@2]"),
        ("a.py::test_x[1@2]@gpu", "a.py::test_x[1@2]"),
        ("lib@2/a.py::test_x", "lib@2/a.py::test_x"),
        ("lib@2/a.py::test_x@gpu", "lib@2/a.py::test_x"),
    ],
)
def test_a_test_is_named_without_its_group(nodeid: str, name: str) -> None:
    assert bare(nodeid) == name


def test_baselines_of_a_divided_suite_become_one(tmp_path: Path) -> None:
    later = replace(KNOWN, tests=(OTHER,), reason="", until="2998-01-01")
    another = Known("feed", tests=(OTHER,))
    for number, part in enumerate(([KNOWN], [later, another])):
        (tmp_path / f"{number}.json").write_text(dumps(merged(part)), encoding="utf-8")
    whole = read([tmp_path / "0.json", tmp_path / "1.json"])
    assert whole.entries[LOSSES.fingerprint] == replace(KNOWN, tests=(TEST, OTHER), until="2998-01-01")
    assert whole.entries["feed"] == another


def test_an_update_keeps_reasons_adds_what_is_new_and_drops_what_is_gone() -> None:
    gone = Known("dead", tests=(TEST,))
    elsewhere = Known("beef", tests=("tests/test_c.py::test_that_was_not_run",))
    fresh = replace(LOSSES, fingerprint="feed")
    now = updated(merged([KNOWN, gone, elsewhere]), [leaking(TEST), leaking(OTHER, fresh)])
    assert now.entries == {
        LOSSES.fingerprint: KNOWN,
        "beef": elsewhere,
        "feed": Known("feed", "GL402", LOSSES.title, (OTHER,)),
    }


def test_a_file_has_a_line_for_each_entry_in_a_fixed_order() -> None:
    parts = [Known("b", tests=("t2",)), Known("c", tests=("t1",)), Known("a", tests=("t2",))]
    text = dumps(merged(parts))
    assert [json.loads(line.strip().rstrip(","))["fingerprint"] for line in text.splitlines()[2:-1]] == ["c", "a", "b"]
    assert json.loads(text)["format"] == "gradlife.leaks-baseline/1"
    assert json.loads(dumps(Baseline()))["entries"] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no json", "is not a baseline: JSONDecodeError"),
        ("[]", 'is not a baseline: it is not an object with "format" and "entries"'),
        ('{"format": "gradlife.leaks-baseline/9", "entries": []}', "its format is 'gradlife.leaks-baseline/9'"),
        ('{"format": "gradlife.leaks-baseline/1", "entries": [{"fingerprint": 3}]}', "3 is no str"),
        (
            '{"format": "gradlife.leaks-baseline/1", "entries": [{"fingerprint": "a", "until": "soon"}]}',
            "'soon' is not a day",
        ),
        (
            '{"format": "gradlife.leaks-baseline/1", "entries": [{"reasn": ""}]}',
            "an entry has no 'reasn', but fingerprint, ",
        ),
    ],
)
def test_a_file_that_is_no_baseline_is_refused_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        read([tmp_path / "bad.json"])
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_refused_unless_it_is_to_be_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"can't be read: No such file or directory \(try: --leaks-update-baseline"):
        read([tmp_path / "none.json"])
    assert read([tmp_path / "none.json"], may_lack=True) == Baseline()


SUITE = """
    import gradlife.engine as torch

    kept = []

    def test_old():
        kept.append(torch.ones(3))

    def test_clean():
        pass
"""
NEW = """
    state = {}

    def test_new():
        state["last"] = torch.ones(3)
"""


def test_a_suite_that_leaks_starts_with_a_baseline_and_fails_for_what_is_new(tmp_path: Path) -> None:
    options = ("--leaks", "--leaks-baseline=known.json")
    first = run_suite(tmp_path, *options, "--leaks-update-baseline", test_suite=SUITE)
    assert (first.status, first.outcome("test_old")) == (0, "PASSED")
    [entry] = read([tmp_path / "known.json"]).entries.values()
    assert entry.tests == ("test_suite.py::test_old",)
    unused = Known("dead", "GL402", "gone", ("test_suite.py::test_clean",), "was mended", until="2020-01-01")
    (tmp_path / "known.json").write_text(dumps(merged([entry, unused])), encoding="utf-8")
    then = run_suite(tmp_path, *options, test_suite=SUITE + NEW)
    assert {name.partition("::")[2]: word for name, word in then.outcomes.items()} == {
        "test_old": "PASSED",
        "test_clean": "PASSED",
        "test_new": "FAILED",
    }
    assert "3 tests checked: 1 new · 1 known · 1 expired in the baseline · 1 unused in the baseline" in then.text
    assert "unused          dead GL402 gone (baseline, until 2020-01-01: was mended): take it out" in then.text
    assert [one["fingerprint"] for one in then.report["baseline"]["unused"]] == ["dead"]


def test_a_leak_of_the_same_name_in_another_module_is_new_and_lines_above_change_nothing(tmp_path: Path) -> None:
    options = ("--leaks", "--leaks-baseline=known.json")
    first = run_suite(tmp_path, *options, "--leaks-update-baseline", test_a=SUITE)
    moved = "# a line\n# more\n" + dedent(SUITE).replace("def test_clean", "x = 1\n\n\ndef test_clean")
    then = run_suite(tmp_path, *options, test_a=moved, test_b=SUITE)
    assert [one["section"] for name in ("a", "b") for one in of_file(then, name)] == ["known", "new"]
    [old], [now] = of_file(first, "a"), of_file(then, "a")
    assert now["fingerprint"] == old["fingerprint"]
    assert "renew the baseline" not in then.text


def of_file(ran: Ran, name: str) -> list[dict[str, Any]]:
    """The findings of a file's tests."""
    return [each for one in ran.report["tests"] if one["nodeid"].startswith(f"test_{name}") for each in one["findings"]]


#: What an earlier version wrote for `SUITE` in two files: one entry for both leaks.
OLD = """\
{"format": "gradlife.leaks-baseline/1",
 "entries": [
  {"fingerprint": "47394f32f37bb0a9", "code": "GL512", "title": "each step appends to a list", "tests": \
["test_a.py::test_old", "test_b.py::test_old"], "reason": "upstream", "link": "", "until": ""}
 ]}
"""


def test_a_baseline_of_an_earlier_version_is_read_asks_to_be_renewed_and_is(tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text(OLD, encoding="utf-8")
    options = ("--leaks", "--leaks-baseline=known.json")
    first = run_suite(tmp_path, *options, test_a=SUITE, test_b=SUITE)
    assert first.status == 0
    assert "4 tests checked: 2 known · renew the baseline" in first.text
    assert first.text.count("renew with --leaks-update-baseline") == 1
    assert [one["fingerprint"] for one in first.report["baseline"]["to_renew"]] == ["47394f32f37bb0a9"]
    run_suite(tmp_path, *options, "--leaks-update-baseline", "test_a.py")
    half = read([tmp_path / "known.json"]).entries.values()
    assert [(one.version, one.tests, one.reason) for one in half] == [
        (2, ("test_a.py::test_old",), "upstream"),
        (1, ("test_b.py::test_old",), "upstream"),
    ]
    run_suite(tmp_path, *options, "--leaks-update-baseline")
    then = run_suite(tmp_path, *options)
    assert "4 tests checked: 2 known\n" in then.text
    whole = read([tmp_path / "known.json"]).entries.values()
    assert sorted((one.version, one.tests, one.reason) for one in whole) == [
        (2, ("test_a.py::test_old",), "upstream"),
        (2, ("test_b.py::test_old",), "upstream"),
    ]


def test_an_entry_of_now_does_not_match_an_old_fingerprint() -> None:
    finding = replace(LOSSES, fingerprint="beef" * 4, legacy_fingerprint=KNOWN.fingerprint)
    assert merged([KNOWN]).excuse(finding, TEST) == (False, "")
    assert merged([replace(KNOWN, version=1)]).excuse(finding, TEST)[0]


def test_a_cycle_of_library_objects_without_a_line_is_known_in_its_own_test_only() -> None:
    def lost(type_: str) -> Finding:
        cycle = (PathStep("Thing", "", "python", ".me", "attribute", type=type_),)
        return replace(LOSSES, stored_at=None, trace=Trace("Thing", "", Lifetime.GC, (), cycle, Ledger(1, ())))

    assert not merged([KNOWN]).excuse(lost("torch.autograd.Thing"), OTHER)[0]
    assert merged([KNOWN]).excuse(lost("model.Thing"), OTHER)[0]
