"""A peak report as JSON and back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fabricated_peaks import REPORT
from gradlife.model.codec import CodecError
from gradlife.model.peak import codec
from gradlife.model.peak.report import PeakReport


def test_a_report_comes_back_as_it_was() -> None:
    assert codec.loads(codec.dumps(REPORT)) == REPORT


def test_the_format_and_what_follows_from_other_fields_are_in_it() -> None:
    document = json.loads(codec.dumps(REPORT))
    assert document["format"] == "gradlife.peak/1"
    assert (document["unused_bytes"], document["unused_percent"]) == (16_384_000, 13.47)
    assert (document["saved_bytes"], document["exit_status"]) == (16_384_000, 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "this is not JSON"),
        ("[]", "not a report of a peak"),
        ('{"format": "gradlife.hunt/1"}', "not a report of a peak"),
        ('{"format": "gradlife.peak/2"}', "reads gradlife.peak/1"),
        ('{"format": "gradlife.peak/1", "target": 3}', "damaged"),
    ],
)
def test_other_texts_are_refused(text: str, words: str) -> None:
    with pytest.raises(CodecError, match=words):
        codec.loads(text)


@pytest.mark.parametrize(("fail_on", "status"), [(None, 0), (13.5, 0), (13.4, 1), (0.0, 1)])
def test_the_exit_status_is_1_above_what_is_allowed(fail_on: float | None, status: int) -> None:
    from dataclasses import replace

    assert replace(REPORT, fail_on=fail_on).exit_status == status


def test_the_exit_status_is_3_where_nothing_was_recorded() -> None:
    assert PeakReport("train.py", "", trouble="no step").exit_status == 3


def test_a_name_that_is_not_utf8_is_written_with_a_question_mark() -> None:
    report = replace(REPORT, target="tr\udce4in.py")
    assert codec.dumps(report).encode("utf-8")
    assert codec.loads(codec.dumps(report)) == replace(report, target="tr?in.py")
