from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fabricated_hunts import CLEAN, CTX, EVERYTHING, LEAKING, LOSSES, PROVEN, hunt
from gradlife.model import hunt_codec
from gradlife.model.codec import CodecError
from gradlife.model.hunt import Advice, HuntReport
from gradlife.reports.formats.json.document import hunt_text
from gradlife.reports.formats.markdown.document import markdown_of


@pytest.mark.parametrize("report", [CLEAN, LEAKING, EVERYTHING, hunt(replace(LOSSES, proof=PROVEN), trouble="killed")])
def test_what_is_written_is_what_is_read(report: HuntReport) -> None:
    assert hunt_codec.loads(hunt_text(report)) == report
    assert hunt_codec.loads(hunt_codec.dumps(report)) == report


def test_json_has_the_fields_of_the_contract() -> None:
    document = json.loads(hunt_text(EVERYTHING))
    assert (document["format"], document["verdict"], document["exit_status"]) == ("gradlife.hunt/1", "leak", 1)
    assert {"findings", "explained", "controls", "limits", "script_status"} <= set(document)
    first = document["findings"][0]
    assert {"code", "title", "lifetime", "kind", "per_step", "retained_bytes", "fingerprint"} <= set(first)
    assert (first["code"], first["kind"], first["lifetime"]) == ("GL402", "growth", "held")
    assert first["per_step"]["bytes"] == 65536
    assert first["created_at"] == ["train.py:41 in step", "train.py:60 in <module>"]
    assert set(first["advice"]) == {"text", "code", "links", "is_example"}
    trace = first["trace"]
    assert trace["root"] == "module __main__"
    assert {"object", "label", "relation", "via", "status", "reason"} <= set(trace["steps"][0])
    assert trace["text"].splitlines()[-2].startswith("╰→ Tensor float32 []")
    assert document["findings"][1]["trace"]["root"] is None


def test_numbers_that_json_has_no_word_for_are_refused() -> None:
    broken = replace(LOSSES, per_step=replace(LOSSES.per_step, bytes=float("nan")))
    with pytest.raises(ValueError, match="JSON"):
        hunt_text(hunt(broken))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not JSON"),
        pytest.param("[" * 100_000, "this is not JSON", id="nested 100,000 deep"),
        ("[]", "this is not a report of a hunt"),
        ('{"format": "gradlife.run/1"}', "this is not a report of a hunt"),
        ('{"format": "gradlife.hunt/3"}', "its format is gradlife.hunt/3; this gradlife reads gradlife.hunt/1 and"),
        ('{"format": "gradlife.hunt/1"}', "the report is damaged: KeyError"),
        ('{"format": "gradlife.hunt/1", "findings": [3]}', "the report is damaged: TypeError"),
    ],
)
def test_what_is_no_report_is_refused(text: str, message: str) -> None:
    with pytest.raises(CodecError) as caught:
        hunt_codec.loads(text)
    assert str(caught.value).startswith(message)


def test_a_field_of_a_later_version_is_left_out() -> None:
    document = json.loads(hunt_text(LEAKING))
    document["weather"] = document["findings"][0]["weather"] = "fine"
    assert hunt_codec.decode(document) == LEAKING


def test_markdown_has_the_verdict_the_trace_in_a_fence_and_the_advice() -> None:
    lines = markdown_of(LEAKING).splitlines()
    assert lines[0] == "## gradlife: LEAK in `train.py`"
    fence = lines.index("```text")
    assert lines[fence + 1].startswith("┬  module __main__")
    assert "**What to do:** Keep the number, not the tensor." in lines
    assert "run.history.append(loss.item())  # a float: the graph goes" in lines
    assert "| round | steps | storage bytes | tensors | nodes | objects | storage bytes/step |" in lines
    assert "**See:** pytorch/pytorch#1840" in lines


def test_markdown_of_a_clean_hunt_is_short() -> None:
    text = markdown_of(CLEAN)
    assert text.startswith(
        "## gradlife: clean in `train.py`\n\nnothing grew in 3 rounds of 7 steps; 1 growth explained.\n"
    )
    assert "###" in text
    assert "Problem" not in text


def test_names_of_the_program_are_no_markup() -> None:
    diagnosis = replace(LOSSES.diagnosis, title="<b>|_x_|", advice=Advice("use `a|b` or <c>", "```\n# fence"))
    trace = replace(CTX, object="``<Evil>")
    text = markdown_of(hunt(replace(LOSSES, diagnosis=diagnosis, trace=trace), target="a`b<i>.py"))
    assert "#### GL402: \\<b\\>\\|\\_x\\_\\|\n" in text
    assert "use `a|b` or \\<c\\>" in text
    assert "````python\n```\n# fence\n````" in text
    assert text.splitlines()[0] == "## gradlife: LEAK in `` a`b<i>.py ``"
