from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fabricated_hunts import CLEAN, CYCLE, EVERYTHING, LEAKING, LOSSES, PROVEN, WAITING, hunt, rounds
from gradlife.model.heap import TypeCount
from gradlife.model.hunt import (
    ARGUMENTS,
    BOUNDED,
    DEVICE_MEMORY,
    DEVICE_OWNER,
    LIVE_OWNER,
    SECOND,
    Amounts,
    Arrivals,
    Confidence,
    Control,
    Explained,
    HuntReport,
    Patch,
    Proof,
    Round,
    Severity,
    StoredAt,
)
from gradlife.model.ranks import FindingRanks, RankEnd, RankRow, Skew, Spread
from gradlife.model.unread_layout import UnreadLayout
from gradlife.reports.hunt.answer import path, plain_name
from gradlife.reports.hunt.changes import changed_rows
from gradlife.reports.hunt.first_screen import LINES, path_lines, print_first_screen
from gradlife.reports.hunt.terminal import print_hunt
from printing import printed, widest

MANY = hunt(
    *[
        replace(LOSSES, fingerprint=f"{number:08x}", severity=Severity.MAJOR if number < 5 else Severity.MINOR)
        for number in range(8)
    ],
    trouble="killed by signal 9 at 7.9 of 8.0 GB",
    script_status=137,
)
LONG = hunt(replace(LOSSES, diagnosis=replace(LOSSES.diagnosis, title="a title of many words " * 12)))
ALL = {
    "clean": CLEAN,
    "leaking": LEAKING,
    "everything": EVERYTHING,
    "many": MANY,
    "long": LONG,
    "waiting": hunt(WAITING),
    "empty": hunt(rounds=()),
}


def screen(report: HuntReport, width: int = 80, color: bool | None = None) -> str:
    return printed(lambda console: print_first_screen(console, report), width, color=color)


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("name", ALL)
def test_screen_has_at_most_fifteen_lines_and_none_is_too_wide(name: str, width: int) -> None:
    text = screen(ALL[name], width)
    assert len(text.splitlines()) <= LINES
    assert widest(text) <= width
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
    assert "\x1b" not in text


@pytest.mark.parametrize("name", ALL)
def test_colour_adds_nothing_but_colour(name: str) -> None:
    assert re.sub(r"\x1b\[[0-9;]*m", "", screen(ALL[name], color=True)) == screen(ALL[name])


def test_growth_is_told_per_second_where_seconds_were_counted() -> None:
    report = hunt(replace(LOSSES, steps_to_limit=93412), stepped_by=SECOND)
    lines = screen(report, 120).splitlines()
    rate = "LEAK  train.py grows by 65.5 kB per second over 21 seconds"
    assert lines[0] == f"{rate}: out of memory after about 93,000 more seconds"
    text = printed(lambda console: print_hunt(console, report), 200)
    assert "3 seconds of warm-up, then 3 rounds of 7 seconds" in text
    assert (
        "exactly 65.5 kB of storages, 1 tensor, 1 storage, 4 grad nodes and 3 Python objects a second, in every round"
        in text
    )
    assert "step leaves" not in text


def test_a_device_that_is_full_first_is_named() -> None:
    report = hunt(replace(LOSSES, steps_to_limit=1234, fills="cuda:0", severity=Severity.CRITICAL))
    report = replace(report, settings={**report.settings, "memory_limit": "64000000000"})
    first = screen(report, 120).splitlines()[0]
    rate = "LEAK  train.py grows by 65.5 kB per step over 21 steps"
    assert first == f"{rate}: out of memory on cuda:0 after about 1,200 more steps"


def test_screen_begins_with_the_answer_and_ends_with_proof_and_details() -> None:
    assert screen(hunt(replace(LOSSES, steps_to_limit=93412, severity=Severity.CRITICAL))).splitlines() == [
        "LEAK  train.py grows by 65.5 kB per step over 21 steps: out of memory after",
        "about 93,000 more steps",
        "",
        "1. run.history: A list of losses keeps the graph of each         GL402, critical",
        "   created at train.py:41 in step",
        "   do: Keep the number, not the tensor.",
        "       run.history.append(loss.item())  # a float: the graph goes",
        "       if step % 100 == 0:",
        '           print("mean", 0.5)',
        "   module __main__ → run.history: list (20 items) → Tensor → MseLossBackward0",
        "",
        "To cut the reference: gradlife hunt --prove train.py",
        "Details: gradlife hunt --full train.py, or --html report.html",
    ]


def test_source_line_stands_beside_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("\n" * 40 + "    loss = step(batch)\n", encoding="utf-8")
    assert "   created at train.py:41   loss = step(batch)" in screen(LEAKING).splitlines()


def test_the_line_that_stores_and_its_patch_take_the_place_of_line_and_advice() -> None:
    stored = StoredAt("train.py", 17, "self.losses.append(loss)", "Trainer.step")
    patch = Patch("", ("self.losses.append(loss)",), ("self.losses.append(loss.item())",))
    lines = screen(hunt(replace(LOSSES, stored_at=stored, patch=patch))).splitlines()
    at = lines.index("   train.py:17   self.losses.append(loss)")
    assert lines[at + 1 : at + 3] == ["   - self.losses.append(loss)", "   + self.losses.append(loss.item())"]
    assert not any("created at" in line or "do:" in line for line in lines)


def test_a_holder_of_200_columns_leaves_the_title_its_line() -> None:
    [root, *steps] = LOSSES.trace.steps
    trace = replace(LOSSES.trace, steps=(replace(root, via=f"global variable '{'n' * 200}'"), *steps))
    title = next(line for line in screen(hunt(replace(LOSSES, trace=trace))).splitlines() if line.startswith("1. "))
    assert title.startswith(f"1. {LOSSES.title}")


def test_a_critical_leak_says_when_memory_runs_out_and_how_much_there_is() -> None:
    ending = replace(LOSSES, severity=Severity.CRITICAL, steps_to_limit=9_345)
    report = replace(hunt(ending), settings={"memory_limit": "8000000000"})
    line = "LEAK  train.py grows by 65.5 kB per step over 21 steps: out of memory after about 9,300 more steps (8 GB)"
    assert " ".join(screen(report).split()).startswith(" ".join(line.split()))


def test_a_program_that_has_run_out_of_memory_has_no_steps_left() -> None:
    ending = replace(LOSSES, severity=Severity.CRITICAL, steps_to_limit=9_345)
    report = replace(hunt(ending), trouble="the program ended with OutOfMemoryError after 110 counted steps")
    rate = "LEAK  train.py grows by 65.5 kB per step over 21 steps"
    assert screen(report).splitlines()[0] == f"{rate} and ran out of memory"


def test_what_a_program_held_when_it_failed_is_no_growth() -> None:
    held = Explained("owner of device memory", "cuda:0: kept of __main__", 5_000_000)
    report = replace(hunt(LOSSES), explained=(held, Explained("bounded container", "lru_cache of encode")))
    text = printed(lambda console: print_hunt(console, report), 120)
    assert "Who held the memory\n  owner of device memory  cuda:0: kept of __main__, 5 MB\n" in text
    assert "Growth that is meant\n  bounded container  lru_cache of encode\n" in text
    assert "1 growth explained" in text


def test_a_line_that_may_be_another_says_so() -> None:
    stored = StoredAt("train.py", 17, "self.losses.append(loss)", "Trainer.step", Confidence.UNSURE)
    assert "train.py:17   self.losses.append(loss)   (unsure: other lines fit as well)" in screen(
        hunt(replace(LOSSES, stored_at=stored)), 120
    )


def test_rate_is_that_of_retained_bytes_where_they_are_known() -> None:
    grown = replace(LOSSES, per_step=replace(LOSSES.per_step, retained_bytes=2_000_000))
    assert screen(hunt(grown, CYCLE)).startswith("LEAK  train.py grows by 3.05 MB per step over 21 steps\n")
    objects = replace(LOSSES, per_step=Amounts(objects=14))
    assert screen(hunt(objects)).startswith("LEAK  train.py grows by 14 objects per step over 21 steps\n")


def test_a_clean_screen_says_how_a_program_ended_that_failed() -> None:
    ends = "rank 1 ended with status 3: the program ended with KeyError after 27 counted steps"
    failed = replace(CLEAN, trouble=ends, script_status=3)
    assert screen(failed).splitlines()[1:3] == [
        "Note: rank 1 ended with status 3: the program ended with KeyError after 27",
        "counted steps",
    ]
    assert screen(replace(CLEAN, script_status=3)).splitlines()[1] == "Note: the script ended with status 3"


def test_every_finding_up_to_five_keeps_its_title_and_the_rest_are_counted() -> None:
    lines = screen(MANY).splitlines()
    assert [line[:3] for line in lines if line[:1].isdigit()] == ["1. ", "2. ", "3. ", "4. ", "5. ", "3 m"]
    assert "3 more, minor" in lines
    assert "Note: killed by signal 9 at 7.9 of 8.0 GB" in lines
    assert "Note: the script ended with status 137" in lines


def test_a_cycle_names_its_objects_and_its_advice_is_words_where_it_has_no_code() -> None:
    lines = screen(hunt(CYCLE)).splitlines()
    assert "   do: Store `y.detach()`." in lines
    assert "   cycle: RoundBackward → Tensor → RoundBackward" in lines


def test_proof_gives_the_rate_after_the_cut() -> None:
    assert "Proof: with the reference cut, 0 B per step (item of list .history" in screen(
        hunt(replace(LOSSES, proof=PROVEN))
    )
    failed = replace(PROVEN, is_sufficient=False, after=PROVEN.before, note="still held by a hook")
    text = screen(hunt(replace(LOSSES, proof=failed)), 120)
    assert "Not proven: with the reference cut, each step adds 1 tensor and 65.5 kB, still held by a hook\n" in text


def test_proof_of_a_patch_gives_the_rate_and_the_losses() -> None:
    patched = replace(LOSSES, patch=Patch("", ("a(loss)",), ("a(loss.item())",)))
    assert "To try the fix: gradlife hunt --prove train.py" in screen(hunt(patched))
    proof = Proof("train.py:41 changed", LOSSES.per_step, Amounts(), True, "400 losses are the same")
    text = screen(hunt(replace(patched, proof=proof)))
    assert "Proof: in a copy with the line changed, 0 B per step; 400 losses are the same\n" in text
    failed = replace(proof, is_sufficient=False, note="loss 2 is 0.5 instead of 0.25")
    text = screen(hunt(replace(patched, proof=failed)), 120)
    assert "Not proven: with the line changed, nothing grows, but loss 2 is 0.5 instead of 0.25\n" in text


def test_the_arguments_of_a_launcher_are_an_ellipsis_in_commands_to_type() -> None:
    text = screen(hunt(LOSSES, target="accelerate"))
    assert "gradlife hunt --prove accelerate ..." in text
    assert "Details: gradlife hunt --full accelerate ..., or --html report.html" in text


def test_arguments_are_dots_and_names_with_spaces_are_quoted_in_commands_to_type() -> None:
    """Commands without the arguments ran another program."""
    text = screen(hunt(LOSSES, target="my train.py", settings={ARGUMENTS: "2"}))
    assert "gradlife hunt --prove 'my train.py' ..." in text
    assert "Details: gradlife hunt --full 'my train.py' ..., or --html report.html" in text


def test_clean_is_two_lines_with_what_is_not_covered() -> None:
    assert screen(CLEAN, 100).splitlines() == [
        "clean  train.py: nothing grew in 3 rounds of 7 steps; 1 growth explained",
        "Not covered: C++ hooks made before the hunt are not seen (gradlife hunt --scan train.py)",
    ]
    assert screen(hunt(limits=())).splitlines()[1:] == ["Details: gradlife hunt --full train.py"]


def test_a_container_that_fills_up_is_named_on_the_screen_of_a_clean_program() -> None:
    """Only the program's source says that it has a limit."""
    filling = Explained(BOUNDED, "replay.items is still filling (114 of 500, limit at train.py:18)")
    assert screen(hunt(limits=(), explained=(filling,)), 100).splitlines()[1] == (
        "replay.items is still filling (114 of 500, limit at train.py:18)"
    )


def test_could_not_tell_gives_the_cause_and_one_command() -> None:
    assert screen(hunt(rounds=(), limits=())).splitlines() == [
        "could not tell  train.py: too few steps to tell",
        "Try: gradlife hunt --step-on MODULE:FUNCTION train.py",
    ]
    failed = hunt(rounds=(), limits=(), trouble="the program ended with ValueError after 0 counted steps")
    assert screen(failed).splitlines()[-1] == "Try: fix the error, then gradlife hunt train.py"
    function = hunt(rounds=(), limits=(), target="train.py::step")
    assert screen(function).splitlines()[-1] == "Try: gradlife hunt --steps 60 train.py::step"
    wrong = hunt(LOSSES, controls=(Control("a clean twin", "clean", "growth"),), rounds=rounds(Amounts(), 7))
    assert screen(wrong, 120).splitlines() == [
        "could not tell  train.py: unreliable: the planted control 'a clean twin' was misjudged",
        "Try: gradlife hunt --full train.py",
    ]


def test_a_long_path_loses_its_middle_and_keeps_its_end() -> None:
    path = " → ".join(
        ["running frame main (train.py:23)", "model", *(f"Layer{number}" for number in range(9)), "Tensor"]
    )
    first, second = path_lines(path, 60)
    assert first == "running frame main (train.py:23) → model → Layer0 → Layer1"
    assert second == "→ Layer2 → ... → Layer5 → Layer6 → Layer7 → Layer8 → Tensor"
    assert path_lines("module → Tensor", 60) == ["module → Tensor"]


@pytest.mark.parametrize("kind", ["global variable", "local variable", "argument"])
def test_a_path_calls_variables_by_their_names(kind: str) -> None:
    assert plain_name(f"{kind} 'losses'") == "losses"
    assert plain_name(".losses") == ".losses"


def test_growth_that_is_mostly_on_a_device_names_it() -> None:
    kept = (TypeCount("torch::StorageImpl cuda:0", "storage", 30, 60_000), TypeCount("Tensor", "python", 30, 900))
    report = hunt(replace(LOSSES, retained_types=kept, retained_bytes=70_000, steps_to_limit=None))
    assert screen(report, 120).splitlines()[0].endswith("per step over 21 steps, most of it on cuda:0")
    assert report.findings[0].device_bytes == {"cuda:0": 60_000}


def test_a_program_that_fails_before_its_first_step_is_to_be_fixed_not_stepped_otherwise() -> None:
    limit = "what grows: no step was seen → gradlife hunt --step-on __main__:FUNCTION …"
    trouble = "the program ended with ModuleNotFoundError after 0 counted steps"
    report = hunt(rounds=(), trouble=trouble, limits=(limit,))
    assert screen(report).splitlines()[-1] == "Try: fix the error, then gradlife hunt train.py"


def test_a_clean_run_whose_ranks_differ_names_the_variable_that_one_rank_holds() -> None:
    owner = "module __main__: global variable 'cache'['table'] → storage: torch::StorageImpl"
    skew = Skew("peak memory", "1", 1, 520e6, 329e6, f"{owner}: not on the other ranks", "", owner, 192e6, 0.0)
    row = RankRow("0-1", 2, "clean", RankEnd.FINISHED, 0, 0, Spread(), Spread(), Spread())
    lines = screen(replace(CLEAN, world_size=2, ranks=(row,), skew=(skew,))).splitlines()
    assert lines[1:3] == [
        "Skew: peak memory of rank 1: 520 MB, the usual rank 329 MB; cache['table']",
        "(Tensor) holds 192 MB there, 0 B on the usual rank",
    ]


def test_one_object_with_a_long_name_loses_the_middle_of_it() -> None:
    [line] = path_lines("module " + "n" * 80 + "Tensor", 40)
    assert (line[:10], line[17:20], line[-8:], len(line)) == ("module nnn", "...", "nnTensor", 40)


def test_what_remains_after_the_change_stands_below_it() -> None:
    patch = Patch("", ("a(loss)",), ("a(loss.item())",), "this keeps the numbers and frees the graphs")
    lines = screen(hunt(replace(LOSSES, patch=patch))).splitlines()
    assert lines[lines.index("   + a(loss.item())") + 1] == "   (this keeps the numbers and frees the graphs)"


def test_code_with_names_that_are_not_the_programs_is_left_to_the_full_report() -> None:
    advice = replace(LOSSES.diagnosis.advice, is_example=True)
    report = hunt(replace(LOSSES, diagnosis=replace(LOSSES.diagnosis, advice=advice)))
    assert "run.history.append" not in screen(report)
    assert "For example:" in printed(lambda console: print_hunt(console, report), 100)


def test_a_long_advice_is_folded_and_not_cut() -> None:
    advice = replace(LOSSES.diagnosis.advice, text="It waits at train.py:7. " * 5, code="")
    lines = screen(hunt(replace(LOSSES, diagnosis=replace(LOSSES.diagnosis, advice=advice)))).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("   do: "))
    assert lines[at + 1].startswith("       It waits at")
    assert not any("..." in line for line in lines[at : at + 2])


def test_the_line_where_the_main_loop_stood_is_left_out_and_that_of_a_thread_is_not() -> None:
    root = replace(
        LOSSES.trace.steps[0], object="running frame", detail="main (train.py:23)", via="local variable 'kept'"
    )
    shown = path(replace(LOSSES.trace, steps=(root, *LOSSES.trace.steps[1:])))
    assert shown.startswith("running frame main (train.py) → kept")
    waiting = replace(root, detail="upload (train.py:7), thread 'T'")
    assert "upload (train.py:7), thread 'T'" in path(replace(LOSSES.trace, steps=(waiting, *LOSSES.trace.steps[1:])))


def test_a_command_that_is_long_leaves_out_what_it_does() -> None:
    assert "gradlife hunt --prove a/b/c/train_with_a_name.py\n" in screen(
        hunt(LOSSES, target="a/b/c/train_with_a_name.py")
    )
    assert "To cut the reference: add --prove to the command\n" in screen(hunt(LOSSES, target="a/long/name" * 8))


def test_a_long_changed_line_is_folded_so_that_its_change_is_seen() -> None:
    before = "self.meter.total = value if self.meter.total is None else self.meter.total + value"
    patch = Patch("", (before,), (before.replace("value if", "value.detach() if") + ".detach()",))
    lines = screen(hunt(replace(LOSSES, patch=patch))).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("   + "))
    assert lines[at + 1].startswith("     ")
    assert lines[at + 1].endswith("+ value.detach()")


def test_a_line_that_is_only_added_comes_with_the_statement_beside_it() -> None:
    diff = "--- a/t.py\n+++ b/t.py\n@@ -1,3 +1,4 @@\n a()\n+    kept.clear()\n     kept.append(x)\n b()\n"
    stored = StoredAt("t.py", 2, "kept.append(x)")
    finding = replace(LOSSES, stored_at=stored, patch=Patch(diff, (), ("kept.clear()",)))
    assert [*changed_rows(finding)] == [("+", "kept.clear()"), (" ", "kept.append(x)")]
    lines = screen(hunt(finding)).splitlines()
    assert lines[lines.index("   + kept.clear()") + 1] == "     kept.append(x)"


def test_changes_at_several_lines_come_with_their_places() -> None:
    diff = (
        "--- a/t.py\n+++ b/t.py\n@@ -3,5 +3,5 @@\n f()\n-    ctx.y = y\n+    ctx.save_for_backward(y)\n g()\n h()\n"
        "-    return ctx.y\n+    return ctx.saved_tensors[0]\n"
    )
    stored = StoredAt("t.py", 4, "ctx.y = y")
    finding = replace(LOSSES, stored_at=stored, patch=Patch(diff, ("ctx.y = y",), ("ctx.save_for_backward(y)",)))
    rows = [f"{sign} {line}" for sign, line in changed_rows(finding)]
    assert rows[:3] == ["- ctx.y = y", "+ ctx.save_for_backward(y)", "at t.py:7"]
    elsewhere = replace(finding, stored_at=StoredAt("t.py", 40, "h()"))
    assert next(changed_rows(elsewhere)) == ("at", "t.py:4")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_very_long_file_name_loses_its_middle_and_keeps_the_line_number(width: int) -> None:
    stored = StoredAt(f"{'n' * 200}.py", 17, "self.losses.append(loss)")
    lines = screen(hunt(replace(LOSSES, stored_at=stored)), width).splitlines()
    (line,) = (one for one in lines if ".py:17   self.losses" in one)
    assert len(line) <= width


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_very_long_target_leaves_a_line_for_the_rate(width: int) -> None:
    first, second, *_ = screen(hunt(LOSSES, target=f"{'n' * 200}.py"), width).splitlines()
    assert first.startswith("LEAK  nnn")
    assert first.endswith("nnn.py")
    assert second.startswith("grows by 65.5 kB per step")


def test_what_a_metric_keeps_is_no_leak_in_the_whole_report() -> None:
    text = printed(lambda console: print_hunt(console, hunt(replace(LOSSES, severity=Severity.NOTE)), True), 120)
    assert "Each step adds 1 tensor" in text
    assert "leaks 1 tensor" not in text


def test_growth_beside_garbage_names_the_line_that_makes_the_garbage() -> None:
    grown = [Round(29, Amounts(), 59_000.0, is_collected=True)] * 3
    report = hunt(replace(WAITING, created_at=("train.py:11",)), rounds=tuple(grown))
    assert "Garbage that the collector frees is created at train.py:11" in screen(report)
    assert "is created at" not in screen(hunt(replace(WAITING, created_at=()), rounds=tuple(grown)))


@pytest.mark.parametrize(
    ("trouble", "command"),
    [
        ("killed by signal 11 at 0.2 of 8.0 GiB", "PYTHONFAULTHANDLER=1 gradlife hunt train.py"),
        ("killed by signal 9 at 7.9 of 8.0 GiB", "gradlife hunt --at-rss 50% train.py"),
        ("killed by signal 15 at 0.2 of 8.0 GiB", "gradlife hunt --step-on MODULE:FUNCTION train.py"),
        ("the program ended with ValueError after 2 counted steps", "fix the error, then gradlife hunt train.py"),
        (
            "the program ended with KeyboardInterrupt after 2 counted steps",
            "gradlife hunt --step-on MODULE:FUNCTION train.py",
        ),
        (
            "the program ended with exit status 0 and left no report: it became another program",
            "hunt the program that it execs: gradlife hunt PROGRAM",
        ),
    ],
)
def test_what_to_try_follows_from_the_way_a_program_ended_too_early(trouble: str, command: str) -> None:
    report = hunt(rounds=(), trouble=trouble, limits=())
    assert screen(report).splitlines()[-1] == f"Try: {command}"


def test_after_an_interrupt_with_few_steps_a_longer_run_is_advised() -> None:
    """The advice after Ctrl-C was to fix an error."""
    trouble = "the program ended with KeyboardInterrupt after 2 counted steps"
    report = hunt(rounds=(), trouble=trouble, limits=("let it run longer → gradlife hunt --step-on f train.py",))
    assert screen(report).splitlines()[-1] == "Try: gradlife hunt --step-on f train.py"


def test_owners_behind_a_frame_are_named_once_by_their_variable_and_its_function() -> None:
    place = "of Trainer.step, train.py:14"
    found = (
        Explained(LIVE_OWNER, f"local variable 'hidden' {place}: list", 9_000_000),
        Explained(LIVE_OWNER, f"local variable 'hidden'[*] {place}: torch.Tensor", 3_000_000),
        Explained(LIVE_OWNER, "local variable 'hidden'[*] of main, train.py:40: torch.Tensor", 3_000_000),
        Explained(LIVE_OWNER, f"local variable 'hidden_states' {place}: collections.defaultdict", 2_000_000),
    )
    trouble = "the program ended with MemoryError after 2 counted steps"
    lines = screen(hunt(rounds=(), trouble=trouble, limits=(), explained=found)).splitlines()
    assert lines[-4:-1] == [
        "   9 MB  local variable 'hidden' of Trainer.step, train.py:14: list",
        "   3 MB  local variable 'hidden'[*] of main, train.py:40: torch.Tensor",
        "   2 MB  local variable 'hidden_states' o...rain.py:14: collections.defaultdict",
    ]


OWNERS = (
    Explained(DEVICE_MEMORY, "cuda:0: in use", 90_000_000),
    Explained(DEVICE_OWNER, "cuda:0: the parameters of model", 60_000_000),
    Explained(DEVICE_OWNER, "cuda:0: global variable 'cache'", 20_000_000),
    Explained(LIVE_OWNER, "module __main__: global variable 'cache'.rows: dict", 16_000_000),
    Explained(LIVE_OWNER, "module __main__: global variable 'cache'.rows[*] -> storage: torch::StorageImpl", 4_000_000),
    Explained(LIVE_OWNER, "module __main__: global variable 'cache'.rows_seen: list", 2_000_000),
    Explained(LIVE_OWNER, "module os: dict", 20_000),
)


@pytest.mark.parametrize(
    ("trouble", "lines"),
    [
        (
            "the program ended with OutOfMemoryError after 2 counted steps",
            [
                "could not tell  train.py: the program ended with OutOfMemoryError after 2 counted steps",
                "Held when memory ran out:",
                "   60 MB  cuda:0: the parameters of model",
                "   20 MB  cuda:0: global variable 'cache'",
                "Try: a smaller batch, then gradlife hunt train.py",
            ],
        ),
        (
            "the program ended with RuntimeError after 2 counted steps",
            [
                "could not tell  train.py: the program ended with RuntimeError after 2 counted steps",
                "Held when memory ran out:",
                "   16 MB  module __main__: global variable 'cache'.rows: dict",
                "    2 MB  module __main__: global variable 'cache'.rows_seen: list",
                "Try: a smaller batch, then gradlife hunt train.py",
            ],
        ),
        (
            "killed by signal 9 at 7.9 of 8.0 GiB",
            [
                "could not tell  train.py: killed by signal 9 at 7.9 of 8.0 GiB",
                "Held shortly before:",
                "   16 MB  module __main__: global variable 'cache'.rows: dict",
                "    2 MB  module __main__: global variable 'cache'.rows_seen: list",
                "Try: gradlife hunt --at-rss 50% train.py",
            ],
        ),
        (
            "killed by signal 15 at 0.2 of 8.0 GiB",
            [
                "could not tell  train.py: killed by signal 15 at 0.2 of 8.0 GiB",
                "Try: gradlife hunt --step-on MODULE:FUNCTION train.py",
            ],
        ),
    ],
    ids=["on the device", "on the host", "killed", "ended from outside"],
)
def test_a_screen_without_rounds_names_who_held_the_memory_that_ran_out(trouble: str, lines: list[str]) -> None:
    """The owners were only in the report of `--full`, and the advice was to fix the error."""
    assert screen(hunt(rounds=(), trouble=trouble, limits=(), explained=OWNERS), 120).splitlines() == lines


def test_a_leak_that_filled_the_memory_stands_beside_who_held_it() -> None:
    report = hunt(LOSSES, trouble="the program ended with RuntimeError after 40 counted steps", explained=OWNERS)
    lines = screen(report, 120).splitlines()
    assert lines[0] == "LEAK  train.py grows by 65.5 kB per step over 21 steps and ran out of memory"
    assert lines[lines.index("Held when memory ran out:") + 1].endswith("global variable 'cache'.rows: dict")
    assert len(lines) <= LINES


def test_a_proof_without_a_rate_says_why_instead_of_the_rate_before() -> None:
    note = "the change could not be tried: the patch of train.py does not fit"
    unknown = Proof("nothing changed", LOSSES.per_step, LOSSES.per_step, False, note)
    report = hunt(replace(LOSSES, proof=unknown))
    assert f"Not proven: {note}" in screen(report).splitlines()
    assert "a step, in every round" in printed(lambda console: print_hunt(console, report), 200)
    assert "→ unknown a step" in printed(lambda console: print_hunt(console, report), 200)


NOTED = replace(LOSSES, severity=Severity.NOTE)


def test_a_note_is_no_leak_in_the_sums() -> None:
    """The full report of a program with garbage and a note said "nothing leaks ...: 1 leak of this program"."""
    text = printed(lambda console: print_hunt(console, hunt(NOTED, WAITING)), 200)
    head = "nothing leaks, but memory waits for the collector: 1 cycle waiting for the collector, 1 note"
    assert f"needs-gc  train.py  {head}" in text.splitlines()[0]
    assert "Leaks of this program" not in text
    assert "Notes: no leaks, but memory that is kept" in text
    assert "LEAK: 1 leak of this program, 1 note\n" in printed(
        lambda console: print_hunt(console, hunt(LOSSES, NOTED)), 200
    )


def test_the_rate_of_a_program_is_that_of_its_leaks() -> None:
    """It had the states of metrics in it, and the rates of workers per batch."""
    ranks = FindingRanks("0-1", 2, 2, Spread(9_000, 9_000), "DataLoader worker", "batch")
    worker = replace(LOSSES, in_workers=ranks, per_step=Amounts(bytes=9_000), fingerprint="w")
    lines = screen(hunt(LOSSES, worker, NOTED), 120).splitlines()
    assert lines[0].endswith(" grows by 65.5 kB per step over 21 steps; its workers by 9 kB per batch")
    assert " grows by 9 kB per batch" in screen(hunt(worker, NOTED), 120).splitlines()[0]


def test_the_time_that_is_left_is_that_of_all_leaks_together() -> None:
    """Two leaks of 1 MB per step each filled 1 GB "after about 1,000 more steps"."""
    half = replace(LOSSES, per_step=Amounts(bytes=1_000_000), steps_to_limit=1_000)
    other = replace(half, fingerprint="other", steps_to_limit=None)
    rate = "grows by 2 MB per step over 21 steps"
    assert f"{rate}: out of memory after about 500 more steps" in screen(hunt(half, other), 120)
    assert "out of memory after about 500 more steps" in screen(hunt(half, replace(other, steps_to_limit=1_000)), 120)


def test_what_was_kept_after_the_last_step_has_an_amount_and_no_rate() -> None:
    after = replace(LOSSES, arrivals=Arrivals(400, 0, 67_300))
    assert "train.py keeps 26.9 MB of 400 results after the last step" in screen(hunt(after))
    assert "comes 400 times after the last step, 67.3 kB each" in screen(hunt(after))
    assert "grows by" in screen(hunt(after, LOSSES))


def test_memory_that_nothing_holds_has_no_reference_to_cut() -> None:
    unheld = replace(LOSSES, trace=replace(LOSSES.trace, steps=(), cycle=()), patch=None)
    assert "--prove" not in screen(hunt(unheld))


def test_a_hunt_that_rests_on_what_cannot_be_read_says_so_first_and_shows_what_it_saw() -> None:
    unread = UnreadLayout("2.16.0", ("next edges",), 69, is_newer=True, withheld=1)
    wrong = (*LEAKING.controls, Control("the graph of a kept result", "whole", "in part"))
    lines = screen(replace(hunt(LOSSES), unread=unread, controls=wrong)).splitlines()
    assert " ".join(lines).startswith("could not tell  train.py: PyTorch 2.16.0 is newer than tested: 1 of 69 kinds of")
    assert lines[-2:] == ["Seen: run.history: A list of losses keeps the graph of each", "Try: gradlife doctor"]


def test_what_cannot_be_read_is_noted_below_a_leak() -> None:
    unread = UnreadLayout("2.16.0", ("dtypes",), 69, hides_references=False)
    lines = screen(replace(hunt(LOSSES), unread=unread)).splitlines()
    assert "Note: PyTorch 2.16.0: 1 of 69 kinds of references and fields in C++ were not" in lines
