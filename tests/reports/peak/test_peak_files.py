"""A peak as a page, as Markdown and as SARIF."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fabricated_peaks import PICTURED, REPORT, UNREAD
from gradlife.model.peak import codec
from gradlife.model.peak.report import ProcessMemory, Use
from gradlife.reports.formats.markdown.document import markdown_of
from gradlife.reports.formats.sarif.peak import peak_sarif
from gradlife.reports.html.document import page_of
from gradlife.reports.peak.picture import pieces
from gradlife.reports.peak.words import memory_words


def test_the_page_has_the_savings_the_picture_and_the_tables() -> None:
    page = page_of(PICTURED)
    for text in (
        "1.</span> local logits of main (train.py:23): 16.4 MB",
        '<span class="line new">+del logits</span>',
        "Live bytes by owner. at most 122 MB; parameters: 7.28 MB; outputs held by names, train.py:15 in head: 114 MB",
        "storages are 100 MB of the 102 MB that malloc gave out up to the peak; 2 MB is small objects and workspaces",
        "blocks.*",
    ):
        assert text in page, text


def test_the_page_of_a_step_without_a_picture_has_none() -> None:
    assert "Live bytes" not in page_of(REPORT)


def test_a_page_says_why_nothing_was_recorded() -> None:
    assert "no step was seen" in page_of(
        replace(REPORT, peak_bytes=0, savings=(), owners=(), trouble="no step was seen")
    )


def test_text_of_a_program_is_no_markup_in_a_page() -> None:
    saving = replace(REPORT.savings[0], holder="local <b> of main")
    assert "<b>" not in page_of(replace(REPORT, savings=(saving,)))


def test_the_life_of_a_band_is_lag_use_and_drag() -> None:
    assert PICTURED.picture is not None
    _, logits = PICTURED.picture.bands
    assert list(pieces(logits, 40)) == [("lag", 5, 10), ("use", 10, 21), ("drag", 21, 30)]
    assert list(pieces(replace(logits, first_read=None, last_read=None), 40)) == [("void", 5, 30)]
    assert list(pieces(replace(logits, died=None), 40)) == [("lag", 5, 10), ("use", 10, 21)]


def test_the_markdown_of_a_peak() -> None:
    assert markdown_of(replace(PICTURED, fail_on=5.0)) == MARKDOWN


MARKDOWN = """\
## gradlife peak: DRAG in `train.py`

peak of 122 MB on cpu: 13.5 % of it is never read again.

- the peak is in: backward at train.py:23 (\\_log\\_softmax\\_backward\\_data)
- never read again: 16.4 MB (13.5 %)
- all savings: 16.4 MB
- lowest possible: 105 MB, if each storage were freed at its last use
- a step is: `AdamW.step`

### What to let go of

#### 1. local logits of main (train.py:23): 16.4 MB

made at line 15, last read at line 21 (\\_log\\_softmax), held until line 21 of the next step

saves 16.4 MB (13.5 %), `del logits` after line 21

**Edit:** `del logits` after line 21 of `train.py`

```diff
+del logits
```

### The peak by use

- lag: 131 kB (0.1 %), held before it is first read
- drag: 16.4 MB (13.5 %), held after it was last read

<details><summary>The peak by owner</summary>

| owner | bytes | of the peak | storages | never read again |
| --- | ---: | ---: | ---: | ---: |
| saved activations | 50.6 MB | 41.6 % | 55 |  |
| temporaries | 32.8 MB | 26.9 % | 2 |  |
| outputs held by names | 16.4 MB | 13.5 % | 4 | 16.4 MB |
| optimizer state | 14.6 MB | 12.0 % | 153 |  |
| parameters | 7.28 MB | 6.0 % | 51 |  |

</details>

<details><summary>Activation checkpointing</summary>

| module | modules | saved for backward | peak lower by | of the peak | of a step to compute again |
| --- | ---: | ---: | ---: | ---: | ---: |
| blocks.\\* | 2 | 40 MB | 30 MB | 24.7 % | 12.5 % |

</details>

### Process memory

storages are 100 MB of the 102 MB that malloc gave out up to the peak; 2 MB is small objects and workspaces
"""


def test_sarif_has_the_line_of_the_edit_and_the_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("pass\n" * 30)
    [run] = json.loads(peak_sarif(replace(REPORT, fail_on=5.0)))["runs"]
    [result] = run["results"]
    assert (result["ruleId"], result["level"]) == ("peak-drag", "error")
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 21}
    [fix] = result["fixes"]
    [replacement] = fix["artifactChanges"][0]["replacements"]
    assert replacement["deletedRegion"] == {"startLine": 22, "startColumn": 1, "endLine": 22, "endColumn": 1}
    assert replacement["insertedContent"]["text"] == "        del logits\n"
    assert run["invocations"][0]["exitCode"] == 1


def test_sarif_has_a_rule_for_each_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("pass\n" * 30)
    savings = tuple(replace(REPORT.savings[0], use=use) for use in (Use.DRAG, Use.VOID, Use.LAG))
    [run] = json.loads(peak_sarif(replace(REPORT, savings=savings)))["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["peak-drag", "peak-void", "peak-lag"]


def test_markdown_and_sarif_say_what_was_not_seen() -> None:
    limited = replace(REPORT, limits=("A compiled region is one operation here.",))
    assert "\n- A compiled region is one operation here.\n" in markdown_of(limited)
    [run] = json.loads(peak_sarif(limited))["runs"]
    notices = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert notices[-1] == "A compiled region is one operation here."


def test_sarif_without_a_file_has_a_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [run] = json.loads(peak_sarif(REPORT))["runs"]
    notices = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert (run["results"], notices[1:]) == ([], ["local logits of main (train.py:23): 16.4 MB"])


def test_records_of_gradlife_are_told_apart_from_other_memory() -> None:
    memory = ProcessMemory(106_000, 67_000, 36_000)
    assert (memory.unseen_bytes, memory_words(memory)) == (
        3_000,
        "storages are 67 kB of the 106 kB that malloc gave out up to the peak, gradlife's records 36 kB"
        "; 3 kB is small objects and workspaces",
    )


#: The row of what no recorded step reads.
ROW = "state of trainer.first_phase: 14.6 MB (12.0 %) in 153 storages, not read in 3 recorded steps"


def test_every_file_has_what_no_recorded_step_reads() -> None:
    report = replace(REPORT, savings=(), unread=(UNREAD,))
    [run] = json.loads(peak_sarif(report))["runs"]
    notices = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert (run["results"], notices[1:]) == ([], [f"{ROW}; {UNREAD.advice}"])
    for text in (page_of(report), markdown_of(report).replace("\\", "")):
        assert ROW in text
        assert "Not read in the recorded steps" in text
    assert codec.loads(codec.dumps(report)) == report


def test_a_file_of_a_version_without_unread_memory_is_read() -> None:
    document = codec.encode(REPORT)
    del document["unread"]
    assert codec.decode(document) == REPORT
