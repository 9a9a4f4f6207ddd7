"""The first screen of a peak, and everything."""

from __future__ import annotations

import io
from dataclasses import replace

from fabricated_peaks import REPORT, SAVING, UNREAD
from gradlife.model.peak.report import Owner, PeakReport, Use
from gradlife.reports.peak.terminal import LINES, print_peak
from gradlife.reports.peak.words import headline, life
from gradlife.reports.theme import make_console


def printed(report: PeakReport, in_full: bool = False) -> list[str]:
    out = io.StringIO()
    print_peak(make_console(out, width=80, color=False), report, in_full)
    return out.getvalue().rstrip("\n").split("\n")


def test_the_first_screen() -> None:
    assert printed(REPORT) == [
        "drag  train.py: peak of 122 MB on cpu: 13.5 % of it is never read again",
        "   backward at train.py:23 (_log_softmax_backward_data)",
        "   saved activations 50.6 MB · temporaries 32.8 MB · outputs held by names 16.4",
        "   MB · optimizer state 14.6 MB",
        "1  local logits of main (train.py:23): 16.4 MB",
        "   made at line 15, last read at line 21 (_log_softmax), held until line 21 of",
        "   the next step",
        "   saves 16.4 MB (13.5 %), `del logits` after line 21",
        "lowest possible peak: 105 MB · steps: AdamW.step 3 to 5 · more: --full",
    ]


def test_a_screen_of_many_savings_has_at_most_15_lines_of_80_columns() -> None:
    report = replace(REPORT, savings=(SAVING,) * 7)
    assert len(printed(report)) <= LINES
    assert max(map(len, printed(report))) <= 80
    assert printed(report)[-1].endswith("4 more: --full")


def test_a_line_is_cut_where_all_in_full_would_be_more_than_a_screen() -> None:
    """What to do was cut in the middle on screens with room."""
    report = replace(REPORT, savings=(SAVING,) * 3)
    assert [line.endswith("…") for line in printed(report)].count(True) == 2
    assert len(printed(report)) == LINES


def test_the_middle_of_a_long_name_is_left_out_on_the_first_screen() -> None:
    """A name of 200 columns took three rows there."""
    name = "local outputs" + "['a_key_of_a_dict']" * 12 + " of main (train.py:23)"
    report = replace(REPORT, savings=(replace(SAVING, holder=name),))
    rows = printed(report)
    at = next(number for number, row in enumerate(rows) if row.startswith("1  "))
    assert rows[at : at + 2] == [
        "1  local outputs['a_key_of_a_d...ict']['a_key_of_a_dict'] of main (train.py:23):",
        "   16.4 MB",
    ]
    assert "".join(line.strip() for line in printed(report, in_full=True)).count("a_key_of_a_dict") == 12


def test_the_middle_of_a_long_file_name_is_left_out_on_the_first_screen() -> None:
    """The verdict and the place of the peak took three rows each."""
    name = f"{'n' * 180}.py"
    moment = replace(REPORT.peak_at, place=replace(REPORT.peak_at.place, file=name)) if REPORT.peak_at else None
    assert printed(replace(REPORT, target=name, peak_at=moment))[:4] == [
        "drag  nnnnnnnnnnnnnnnnnnnnn...nnnnnnnnnnnnnnnnnnnnn.py: peak of 122 MB on cpu:",
        "13.5 % of it is never read again",
        "   backward at nnnnnnnnnnnnnnnnnnnnn...nnnnnnnnnnnnnnnnnn.py:23",
        "   (_log_softmax_backward_data)",
    ]


def test_nothing_to_save_is_said() -> None:
    report = replace(REPORT, savings=())
    assert printed(report)[0] == "clean  train.py: peak of 122 MB on cpu: nothing to save"


def test_more_than_is_allowed_without_a_known_edit_is_told_by_its_share() -> None:
    report = replace(REPORT, savings=(), fail_on=5.0)
    assert printed(report)[0].startswith("DRAG")
    assert headline(report) == "peak of 122 MB on cpu: 13.5 % of it is never read again, but no edit is known"


def test_what_no_recorded_step_frees_is_said_to_be_held_beyond_them() -> None:
    held = replace(SAVING, freed_before=None)
    zeroed = replace(held, owner=Owner.GRADIENT)
    added = replace(zeroed, use=Use.VOID, last_read=None)
    assert [life(one, "train.py").rpartition(", ")[2] for one in (held, zeroed, added)] == [
        "held beyond the recorded steps",
        "overwritten later",
        "only added to",
    ]


def test_more_than_is_allowed_is_loud() -> None:
    assert printed(replace(REPORT, fail_on=5.0))[0].startswith("DRAG")


def test_where_nothing_was_recorded_the_reason_stands() -> None:
    report = PeakReport("train.py", "", trouble="no step was seen")
    assert printed(report) == ["could not tell  train.py: no step was seen"]


def test_the_full_report_has_owners_and_uses() -> None:
    lines = printed(REPORT, in_full=True)
    assert "  drag: 16.4 MB (13.5 %), held after it was last read" in lines
    assert any(line.split() == ["parameters", "7.28", "MB", "6.0", "%", "51"] for line in lines)


def test_what_is_never_read_is_said_to_be() -> None:
    void = replace(SAVING, use=Use.VOID, last_read=None)
    assert "   made at line 15, never read, held until line 21 of the next step" in printed(
        replace(REPORT, savings=(void,))
    )


def test_what_the_recording_cannot_show_stands_on_the_first_screen() -> None:
    """That compiled code ran uncompiled, so that another peak was recorded, stood in the full report alone."""
    note = "Code under torch.compile ran uncompiled in the recorded steps."
    lines = printed(replace(REPORT, limits=(note,)))
    assert (lines[4], len(lines)) == (f"   {note}", 10)


def test_what_no_recorded_step_reads_is_no_saving() -> None:
    lines = printed(replace(REPORT, savings=(), unread=(UNREAD,)))
    assert lines[:2] == [
        "unread  train.py: peak of 122 MB on cpu: 14.6 MB (12.0 %) is held by state of",
        "trainer.first_phase, and no recorded step reads it",
    ]
    assert lines[5:] == [
        "?  state of trainer.first_phase: 14.6 MB (12.0 %) in 153 storages, not read in 3",
        "   recorded steps",
        "   if `trainer.first_phase.step()` is not called again: drop the optimizer, and",
        "   its scheduler",
        "lowest possible peak: 105 MB · steps: AdamW.step 3 to 5 · more: --full",
    ]


def test_the_third_saving_gives_way_to_what_no_recorded_step_reads() -> None:
    report = replace(REPORT, savings=(SAVING,) * 3, unread=(UNREAD,) * 2)
    lines = printed(report)
    assert [line[:2] for line in lines if line[0] in "123?"] == ["1 ", "2 ", "? "]
    assert len(lines) <= LINES
    assert lines[-1].endswith("2 more: --full")
    assert sum(line.startswith("  ? ") for line in printed(report, in_full=True)) == 2
