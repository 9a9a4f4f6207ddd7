"""The marker `peak_memory`: a test whose peak is too high, or holds what nobody reads, fails with the line to change."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from fabricated_peaks import REPORT
from gradlife.model.peak.report import PeakReport
from gradlife.pytest_plugin.checks.peak_memory import complaint
from gradlife.pytest_plugin.settings.bad_marker import BadMarker
from gradlife.pytest_plugin.settings.peak_marks import PeakTerms, terms_of
from plugin_suites import run_suite

SUITE = """
    import pytest
    import torch
    import torch.nn.functional as F

    net = torch.nn.Linear(64, 4000)

    def loss_of(x):
        logits = net(x)
        return F.cross_entropy(logits, torch.zeros(128, dtype=torch.long))

    @pytest.mark.peak_memory(limit="10 MB", drag="5 %")
    def test_wasteful():
        logits = net(torch.ones(128, 64))
        loss = F.cross_entropy(logits, torch.zeros(128, dtype=torch.long))
        net.zero_grad()
        loss.backward()

    @pytest.mark.peak_memory(limit="10 MB", drag="5 %")
    def test_thrifty():
        net.zero_grad()
        loss_of(torch.ones(128, 64)).backward()

    @pytest.mark.peak_memory(limit="2 MB")
    def test_large():
        loss_of(torch.ones(128, 64)).backward()

    @pytest.mark.peak_memory(limit="2 MB")
    def test_without_tensors():
        pass
"""


def item(*args: object, **kwargs: object) -> pytest.Item:
    mark = SimpleNamespace(args=args, kwargs=kwargs)
    return cast(
        pytest.Item,
        SimpleNamespace(
            nodeid="test_x.py::test_x", get_closest_marker=lambda name: mark if name == "peak_memory" else None
        ),
    )


def test_terms_are_sizes_and_shares() -> None:
    assert terms_of(item(limit="1.2 GB", drag="5 %")) == PeakTerms(1_200_000_000, 5.0)
    assert terms_of(item(limit="1 GiB")) == PeakTerms(2**30)
    assert terms_of(item(limit=4096)) == PeakTerms(4096)
    assert terms_of(item(drag="0.5%")) == PeakTerms(None, 0.5)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (item(), "peak_memory takes limit='1.2 GB', drag='5 %', or both"),
        (item("1 GB"), "peak_memory takes limit='1.2 GB', drag='5 %', or both"),
        (item(peak="1 GB"), "peak_memory takes limit='1.2 GB', drag='5 %', or both"),
        (item(limit="much"), "peak_memory(limit='much'): a size such as '1.2 GB'"),
        (item(limit="0 GB"), "peak_memory(limit='0 GB'): a size such as '1.2 GB'"),
        (item(limit=True), "peak_memory(limit=True): a size such as '1.2 GB'"),
        (item(drag="101 %"), "peak_memory(drag='101 %'): a share such as '5 %'"),
        (item(drag=5), "peak_memory(drag=5): a share such as '5 %'"),
    ],
)
def test_terms_that_make_no_sense_are_refused(made: pytest.Item, words: str) -> None:
    with pytest.raises(BadMarker) as caught:
        terms_of(made)
    assert str(caught.value) == f"test_x.py::test_x: {words}"


def test_the_complaint_is_what_is_exceeded_and_the_first_screen() -> None:
    assert list(complaint(REPORT, PeakTerms(100_000_000, 5.0))) == [
        "the peak of this test is 122 MB, more than its limit of 100 MB",
        "13.5 % of the peak of this test is never read again, more than 5 %",
        "drag  train.py: peak of 122 MB on cpu: 13.5 % of it is never read again",
        "   backward at train.py:23 (_log_softmax_backward_data)",
        "   saved activations 50.6 MB · temporaries 32.8 MB · outputs held by names 16.4 MB · optimizer state 14.6 MB",
        "1  local logits of main (train.py:23): 16.4 MB",
        "   made at line 15, last read at line 21 (_log_softmax), held until line 21 of the next step",
        "   saves 16.4 MB (13.5 %), `del logits` after line 21",
        "lowest possible peak: 105 MB · steps: AdamW.step 3 to 5 · more: --full",
    ]


def test_nothing_is_said_within_the_limits() -> None:
    assert list(complaint(REPORT, PeakTerms(122_000_000, 14.0))) == []


def test_what_could_not_be_measured_fails_the_test() -> None:
    report = PeakReport("x", "", trouble="run 2: ValueError: once only")
    assert list(complaint(report, PeakTerms(1))) == [
        "the peak of this test could not be measured: run 2: ValueError: once only"
    ]


@pytest.mark.torch
@pytest.mark.whole
def test_marked_tests_fail_with_the_line_to_change(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, test_peak=SUITE)
    assert {name.partition("::")[2]: outcome for name, outcome in ran.outcomes.items()} == {
        "test_wasteful": "FAILED",
        "test_thrifty": "PASSED",
        "test_large": "FAILED",
        "test_without_tensors": "FAILED",
    }
    assert "`del logits` after line 15" in ran.text
    assert "more than its limit of 2 MB" in ran.text
    assert "could not be measured: no operation of the judged step used memory" in ran.text
