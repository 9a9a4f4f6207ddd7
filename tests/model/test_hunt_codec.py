"""The JSON of a hunt has the line that stores and the patch, and gives them back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import LOSSES, hunt
from gradlife.model.codec import CodecError
from gradlife.model.hunt import Confidence, Patch, StoredAt
from gradlife.model.hunt_codec import decode, dumps, encode, loads

STORED = StoredAt("train.py", 17, "self.losses.append(loss)", "Trainer.step", Confidence.UNSURE, "torch/nn.py:3")
PATCH = Patch("--- a/train.py\n", ("self.losses.append(loss)",), ("self.losses.append(loss.item())",))


def test_the_line_that_stores_and_the_patch_come_back_as_they_were() -> None:
    report = hunt(replace(LOSSES, stored_at=STORED, patch=PATCH), LOSSES)
    assert decode(encode(report)) == report


def test_what_is_unknown_is_null() -> None:
    [item] = encode(hunt(LOSSES))["findings"]
    assert (item["stored_at"], item["patch"]) == (None, None)


def test_a_report_of_an_older_version_has_neither() -> None:
    document = encode(hunt(LOSSES))
    del document["findings"][0]["stored_at"], document["findings"][0]["patch"]
    assert decode(document) == hunt(LOSSES)


def test_a_confidence_that_nobody_knows_is_refused() -> None:
    document = encode(hunt(replace(LOSSES, stored_at=STORED)))
    document["findings"][0]["stored_at"]["confidence"] = "perhaps"
    with pytest.raises(CodecError, match="damaged: ValueError"):
        decode(document)


def test_a_name_that_is_not_utf8_is_written_with_a_question_mark() -> None:
    report = replace(hunt(LOSSES), target="tr\udce4in.py")
    assert loads(dumps(report)) == replace(report, target="tr?in.py")
    assert dumps(report).encode("utf-8")
