"""Tests divided among processes: what each finds reaches whoever started them, and it all comes to the same as in one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradlife.pytest_plugin.outcomes.baseline import read
from plugin_suites import Ran, run_suite

HEAD = """
    import gradlife.engine as torch
    import pytest

    kept, states = [], {}

    class Owner:
        pass
"""
MARKED = """
    @pytest.mark.no_leaks(repeat=3)
    @pytest.mark.parametrize("size", [1, 2])
    def test_marked_keeps(size):
        kept.append(torch.ones(size))

    @pytest.mark.no_leaks(repeat=3)
    def test_marked_clean():
        torch.ones(3)

    @pytest.mark.no_leaks(repeat=3)
    def test_marked_leaves_cycles():
        owner = Owner()
        owner.itself = owner
        owner.tensor = torch.ones(2000)

    def test_asserts(lifetimes):
        lifetimes.expect_freed(lambda: torch.ones(3))

    def test_asserts_wrongly(lifetimes):
        lifetimes.expect_freed(lambda: states.setdefault("it", torch.ones(3)))
"""
SWEPT = """
    @pytest.mark.parametrize("size", [1, 2])
    def test_keeps(size):
        kept.append(torch.ones(size))

    def test_fails():
        assert not "its own reason"

    @pytest.fixture
    def leaky():
        kept.append(torch.ones(6))
        yield

    def test_has_a_fixture_that_leaks(leaky):
        pass
"""
WORKERS = ("-n2", "--dist=load")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_suite(tmp_path_factory.mktemp("suite"), "--leaks", test_suite=HEAD + MARKED + SWEPT)


@pytest.fixture(scope="module")
def divided(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("suite")
    return run_suite(folder, "--leaks", *WORKERS, test_suite=HEAD + MARKED + SWEPT, plugins=("xdist",))


def found_in(ran: Ran) -> list[tuple[Any, ...]]:
    """Of each test that was checked what came of it, and its findings."""
    return sorted(
        (
            *(one[name] for name in ("nodeid", "phase", "how", "verdict", "is_failure", "place")),
            tuple(
                (each["code"], each["section"], each["fingerprint"], *each["created_at"]) for each in one["findings"]
            ),
            len(one["runs"]),
        )
        for one in ran.report["tests"]
    )


def section_of(ran: Ran) -> list[str]:
    """The lines at the end."""
    text = ran.text[ran.text.index(" gradlife ====") :]
    return sorted(line for line in text.splitlines()[1:] if line.startswith(("new ", "waiting ", "explained ")))


@pytest.mark.whole
def test_no_worker_dies_and_each_test_ends_as_without_them(alone: Ran, divided: Ran) -> None:
    assert divided.outcomes == alone.outcomes
    assert divided.status == alone.status == 1
    assert sorted(alone.outcomes.values()).count("FAILED") == 7


@pytest.mark.whole
def test_findings_reach_the_report_whole(alone: Ran, divided: Ran) -> None:
    assert found_in(divided) == found_in(alone)
    assert divided.report["totals"] == alone.report["totals"]
    assert alone.report["totals"]["new"] == 6


def test_the_summary_reports_all_of_them(alone: Ran, divided: Ran) -> None:
    assert section_of(divided) == section_of(alone)
    assert len(section_of(alone)) == 6


@pytest.mark.whole
def test_a_baseline_that_workers_update_is_the_same_file(tmp_path: Path) -> None:
    options = ("--leaks", "--leaks-baseline=known.json")
    texts = []
    for name, more, plugins in (("alone", (), ()), ("divided", WORKERS, ("xdist",))):
        folder = tmp_path / name
        folder.mkdir()
        suite = HEAD + SWEPT.replace("assert not", "assert")
        first = run_suite(folder, *options, "--leaks-update-baseline", *more, plugins=plugins, test_suite=suite)
        assert first.status == 0
        texts.append((folder / "known.json").read_text(encoding="utf-8"))
        then = run_suite(folder, *options, *more, plugins=plugins, test_suite=suite)
        assert (then.status, then.report["totals"]["known"], then.report["totals"]["new"]) == (0, 3, 0)
    assert texts[0] == texts[1]
    assert len(read([tmp_path / "alone" / "known.json"]).entries) == 2  # a fixture and tests store it


@pytest.mark.whole
def test_a_marker_alone_is_reported_without_any_option(pytester: pytest.Pytester) -> None:
    """Nothing on the command line says beforehand that there is anything to check."""
    pytester.makepyfile(HEAD + MARKED)
    result = pytester.runpytest_subprocess("-n2", "-p", "no:cacheprovider", "-p", "no:randomly")
    result.assert_outcomes(passed=2, failed=4)
    result.stdout.fnmatch_lines(["*= gradlife =*", "4 tests checked: 3 new", "new *::test_marked_keeps?1?: 1 tensor*"])
    result.stdout.no_fnmatch_line("*worker*crashed*")
