"""The markers `max_peak` and `max_growth`: a size, or no more than the baseline has."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from gradlife.errors import UsageError
from gradlife.pytest_plugin.outcomes.baseline import Baseline, Figures, dumps, merged, read
from gradlife.pytest_plugin.settings import marks, peak_marks
from gradlife.pytest_plugin.settings.bad_marker import BadMarker
from gradlife.pytest_plugin.settings.limit_marks import MAX_GROWTH, MAX_PEAK, Limit, limit_of
from gradlife.pytest_plugin.settings.peak_marks import PeakTerms
from plugin_suites import run_suite

TEST = "tests/test_a.py::test_step"

GROWTH = """
    import gradlife.engine as torch
    import pytest

    kept = []

    @pytest.mark.max_growth("0 B")
    def test_clean():
        torch.ones(3).sum()

    @pytest.mark.max_growth("0 B")
    def test_grows():
        kept.append(torch.ones({count}))

    @pytest.mark.max_growth("1 MB")
    def test_within():
        kept.append(torch.ones(3))

    @pytest.mark.max_growth()
    def test_as_before():
        kept.append(torch.ones({count}))
"""

PEAK = """
    import pytest
    import torch

    @pytest.mark.max_peak("3 MB")
    def test_within():
        torch.ones({rows}, 1000).exp()

    @pytest.mark.max_peak("1 MB")
    def test_over():
        torch.ones({rows}, 1000).exp()

    @pytest.mark.max_peak()
    def test_as_before():
        torch.ones({rows}, 1000).exp()
"""


def item(**made: tuple[object, ...] | dict[str, object]) -> pytest.Item:
    """An item with markers: of arguments, or of keywords."""
    found = {
        name: SimpleNamespace(
            args=value if isinstance(value, tuple) else (), kwargs={} if isinstance(value, tuple) else value
        )
        for name, value in made.items()
    }
    return cast(pytest.Item, SimpleNamespace(nodeid=TEST, get_closest_marker=found.get))


def test_a_limit_is_a_size_or_that_of_the_baseline() -> None:
    assert limit_of(item(max_peak=("2 GB",)), MAX_PEAK) == Limit(2_000_000_000)
    assert limit_of(item(max_growth=("0 B",)), MAX_GROWTH) == Limit(0)
    assert limit_of(item(max_growth=(4096,)), MAX_GROWTH) == Limit(4096)
    assert limit_of(item(max_peak=()), MAX_PEAK) == Limit(None)
    assert limit_of(item(), MAX_PEAK) is None


@pytest.mark.parametrize(
    ("made", "marker", "words"),
    [
        (item(max_peak=("lots",)), MAX_PEAK, "max_peak('lots'): a size such as '2 GB'"),
        (item(max_peak=("0 B",)), MAX_PEAK, "max_peak('0 B'): a size such as '2 GB'"),
        (item(max_peak=(True,)), MAX_PEAK, "max_peak(True): a size such as '2 GB'"),
        (item(max_growth=(-1,)), MAX_GROWTH, "max_growth(-1): a size such as '0 B'"),
        (item(max_growth=(1.5,)), MAX_GROWTH, "max_growth(1.5): a size such as '0 B'"),
        (item(max_growth={"limit": "0 B"}), MAX_GROWTH, "max_growth takes a size, max_growth('0 B'), or nothing"),
        (item(max_peak=("1 B", "2 B")), MAX_PEAK, "max_peak takes a size, max_peak('2 GB'), or nothing"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_in_one_line(made: pytest.Item, marker: str, words: str) -> None:
    with pytest.raises(BadMarker) as caught:
        limit_of(made, marker)
    assert str(caught.value).startswith(words)


def test_two_markers_about_one_thing_are_refused() -> None:
    with pytest.raises(BadMarker, match="no_leaks and max_growth: one of them is enough"):
        marks.terms_of(item(no_leaks={}, max_growth=("0 B",)))
    with pytest.raises(BadMarker, match=r"test_step: peak_memory\(limit='1 GB'\) and max_peak: one of them is enough"):
        peak_marks.terms_of(item(peak_memory={"limit": "1 GB"}, max_peak=("1 GB",)))


def test_a_share_and_a_size_go_together() -> None:
    both = item(peak_memory={"drag": "5 %"}, max_peak=("1 GB",))
    assert peak_marks.terms_of(both) == PeakTerms(1_000_000_000, 5.0, has_baseline=True)


@pytest.mark.parametrize(
    ("limit", "known", "allowed"),
    [(100, None, 100), (None, 200, 210), (100, 200, 210), (300, 200, 300), (0, 0, 0), (None, None, None)],
)
def test_the_larger_of_limit_and_baseline_counts(limit: int | None, known: int | None, allowed: int | None) -> None:
    baseline = merged([], [Figures(TEST, peak_bytes=known)])
    assert baseline.limit(f"{TEST}@group", "peak_bytes", limit) == allowed


def test_figures_are_written_and_read(tmp_path: Path) -> None:
    baseline = merged([], [Figures(TEST, peak_bytes=12), Figures("tests/test_a.py::test_a", growth_bytes=0)])
    file = tmp_path / "known.json"
    file.write_text(dumps(baseline))
    assert read([file]) == baseline
    assert [one["test"] for one in json.loads(dumps(baseline))["figures"]] == ["tests/test_a.py::test_a", TEST]
    assert "figures" not in dumps(Baseline())


def test_a_file_with_damaged_figures_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    file.write_text('{"format": "gradlife.leaks-baseline/1", "entries": [], "figures": [{"test": 1}]}')
    with pytest.raises(UsageError, match="is not a baseline"):
        read([file])


@pytest.mark.whole
def test_growth_against_a_size_and_against_the_baseline(tmp_path: Path) -> None:
    first = run_suite(tmp_path, test_a=GROWTH.format(count=10_000))
    assert first.outcomes == {
        "test_a.py::test_clean": "PASSED",
        "test_a.py::test_grows": "FAILED",
        "test_a.py::test_within": "PASSED",
        "test_a.py::test_as_before": "FAILED",
    }
    assert "more than its limit of 0 B" in first.text
    assert (
        "the baseline has no growth of this test (try: pytest --leaks-baseline FILE --leaks-update-baseline)"
        in first.text
    )

    baseline = ("--leaks-baseline", "known.json")
    update = run_suite(tmp_path, *baseline, "--leaks-update-baseline")
    assert set(update.outcomes.values()) == {"PASSED"}
    figures = {one["test"]: one["growth_bytes"] for one in json.loads((tmp_path / "known.json").read_text())["figures"]}
    assert figures["test_a.py::test_clean"] == 0
    assert 40_000 <= figures["test_a.py::test_as_before"] < 45_000

    assert set(run_suite(tmp_path, *baseline).outcomes.values()) == {"PASSED"}
    larger = run_suite(tmp_path, *baseline, test_a=GROWTH.format(count=20_000))
    assert [name for name, word in larger.outcomes.items() if word == "FAILED"] == [
        "test_a.py::test_grows",
        "test_a.py::test_as_before",
    ]


@pytest.mark.whole
@pytest.mark.torch
def test_a_peak_against_a_size_and_against_the_baseline(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    first = run_suite(tmp_path, test_a=PEAK.format(rows=300))
    assert [name for name, word in first.outcomes.items() if word == "PASSED"] == ["test_a.py::test_within"]
    assert "the peak of this test is 2.4 MB, more than its limit of 1 MB" in first.text
    assert "the baseline has no peak of this test (try:" in first.text

    baseline = ("--leaks-baseline", "known.json")
    assert set(run_suite(tmp_path, *baseline, "--leaks-update-baseline").outcomes.values()) == {"PASSED"}
    figures = {one["test"]: one["peak_bytes"] for one in json.loads((tmp_path / "known.json").read_text())["figures"]}
    assert set(figures.values()) == {2_400_000}
    assert set(run_suite(tmp_path, *baseline).outcomes.values()) == {"PASSED"}
    larger = run_suite(tmp_path, *baseline, test_a=PEAK.format(rows=330))
    assert [name for name, word in larger.outcomes.items() if word == "FAILED"] == [
        "test_a.py::test_over",
        "test_a.py::test_as_before",
    ]


def test_a_bad_size_is_an_error_of_collection(tmp_path: Path) -> None:
    suite = """
    import pytest

    @pytest.mark.max_growth("much")
    def test_a():
        raise SystemExit("it ran")
    """
    ran = run_suite(tmp_path, test_a=suite)
    assert "test_a.py::test_a: max_growth('much'): a size such as '0 B'" in ran.text
    assert "it ran" not in ran.text
