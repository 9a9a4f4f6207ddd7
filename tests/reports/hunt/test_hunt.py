from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import CLEAN, EVERYTHING, HISTORY, LEAKING, LOSSES, PROVEN, WAITING, hunt, rounds, step
from gradlife.model.hunt import Amounts, Control, HuntReport, Patch, Round
from gradlife.model.ranks import FindingRanks, Spread, WorkerRow
from gradlife.model.trace import Ledger
from gradlife.reports.coloured_code import coloured
from gradlife.reports.hunt.ranks import processes
from gradlife.reports.hunt.terminal import print_hunt
from gradlife.reports.hunt.workers import name_of
from printing import printed, widest

ALL = {"clean": CLEAN, "leaking": LEAKING, "everything": EVERYTHING, "waiting": hunt(WAITING), "empty": hunt(rounds=())}


def report_text(report: HuntReport, width: int = 80, in_full: bool = False, color: bool | None = None) -> str:
    return printed(lambda console: print_hunt(console, report, in_full), width, color=color)


def part(report: HuntReport, title: str, width: int = 120) -> list[str]:
    """The lines of the part with this title, up to the next empty line."""
    lines = report_text(report, width).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(title))
    stop = next((number for number in range(start, len(lines)) if not lines[number]), len(lines))
    return lines[start + 1 : stop]


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("name", ALL)
def test_no_line_is_wider_than_the_terminal_nor_ends_in_blanks(name: str, width: int) -> None:
    text = report_text(ALL[name], width)
    assert widest(text) <= width
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
    assert "\x1b" not in text


@pytest.mark.parametrize("name", ALL)
def test_colour_adds_nothing_but_colour(name: str) -> None:
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", report_text(ALL[name], color=True)) == report_text(ALL[name])


def test_verdict_is_the_first_word_and_stands_in_the_last_line() -> None:
    for report, word in ((CLEAN, "clean"), (LEAKING, "LEAK"), (hunt(WAITING), "needs-gc")):
        lines = report_text(report, 120).splitlines()
        assert lines[0].startswith(f"{word}  train.py  ")
        assert lines[-1].startswith(f"{word}: ")


def test_trace_has_a_verdict_for_each_step_and_tildes_under_the_suspect_stretch() -> None:
    assert part(LEAKING, "  search terms")[1:] == []
    assert part(LEAKING, "┬  module")[:] == [
        "│    global variable 'run'",
        "├─ Run   expected: it is there before the first step",
        "│    .history",
        "├─ list len 20",
        "│    [17]",
        "│    ~~~~",
        "╰→ Tensor float32 []   leaked: made in step 17, which is over",
        "   its grad_fn is MseLossBackward0, with the graph behind it; its storage has 65.5 kB",
    ]


def test_problem_says_what_how_much_where_and_by_whom_in_plain_words() -> None:
    text = " ".join(report_text(LEAKING, 120).split())
    assert (
        "Each step leaks 1 tensor and 65.5 kB, still reachable. Held by module __main__: "
        "run.history[17]. Stored in list (20 items), run.history. "
        "Freeing its holder would free 1.11 MB. Created at train.py:41 in step, called from train.py:60 in <module>."
    ) in text


def test_a_finding_among_others_says_its_share_of_what_grows() -> None:
    assert "65.5 kB, still reachable. That is 6 % of all growth in storages." in report_text(EVERYTHING, 120)
    assert "of all growth" not in report_text(LEAKING, 120)


@pytest.mark.parametrize(("others", "is_said"), [(0.04, False), (0.06, True)])
def test_a_finding_with_nearly_all_growth_has_no_share(others: float, is_said: bool) -> None:
    grown = rounds(Amounts(tensors=2, bytes=65536 * (1 + others)), 7, 11, 13)
    assert ("of all growth" in report_text(hunt(LOSSES, rounds=grown), 120)) is is_said


def test_a_path_is_written_as_in_code_and_a_container_has_its_items() -> None:
    assert "Held by module __main__: run.history[17]. Stored in list (20 items), run.history." in " ".join(
        report_text(LEAKING, 120).split()
    )


def test_the_next_run_makes_the_change_or_cuts_the_reference() -> None:
    patched = replace(LOSSES, patch=Patch("", (), ("append(loss.item())",)))
    purposes = [" ".join(part(hunt(one), "Next")) for one in (LOSSES, patched)]
    assert ["runs again without the suspect reference, and measures" in one for one in purposes] == [True, False]
    assert ["runs again with the change, and measures" in one for one in purposes] == [False, True]


def test_a_stray_object_in_many_steps_goes_unmentioned() -> None:
    chain = replace(LOSSES, per_step=Amounts(objects=0.01, tensors=0.01, storages=0.02, graph_nodes=11, bytes=0.1))
    assert "Each step leaks 11 grad nodes, still reachable." in report_text(hunt(chain), 120)
    doubled = replace(LOSSES, per_step=Amounts(objects=3, tensors=1, storages=0.99, bytes=64))
    assert "Each step leaks 1 tensor and 64 B," in report_text(hunt(doubled), 120)


def test_a_cycle_is_drawn_as_a_ring_with_what_no_object_explains() -> None:
    assert part(EVERYTHING, "╭→ RoundBackward") == [
        "│    ctx attribute 'result'",
        "│    ~~~~~~~~~~~~~~~~~~~~~~",
        "├─ Tensor float32 [512, 512]   leaked: backward is over",
        "│    grad_fn",
        "│    ~~~~~~~",
        "╰─ back to RoundBackward",
        "  2 references, 2 of which no object explains",
        "  native code: SinBackward0 +232 → SavedVariable +8   likely",
        "  RoundBackward has 1 reference from Tensor that the collector cannot see",
    ]


def test_what_only_hangs_on_a_cycle_is_drawn_below_it() -> None:
    assert part(hunt(WAITING), "╭→ Pooler")[-4:] == [
        "╰─ back to Pooler",
        "┬  Pooler",
        "│    .table",
        "╰→ Tensor float32 [8]   leaked",
    ]


def test_findings_stand_under_whose_bug_they_are() -> None:
    lines = report_text(EVERYTHING, 120).splitlines()
    titles = [line for line in lines if line.startswith(("Leaks of", "Waiting for", "Problem"))]
    assert [title.split("  ")[0] for title in titles] == [
        "Leaks of this program",
        "Problem 1 of 3",
        "Leaks of libraries",
        "Problem 2 of 3",
        "Waiting for the collector: no leaks, but memory at its peak",
        "Problem 3 of 3",
    ]
    assert "  a bug of: torch < 2.12, pytorch/pytorch#183211" in lines


def test_rounds_end_in_a_rate_that_does_not_move() -> None:
    report = hunt(LOSSES, rounds=rounds(Amounts(tensors=2, bytes=1000), 7, 11))
    assert part(report, "What each round added") == [
        "  round  steps  storage bytes  tensors  storage bytes/step",
        "      1      7          +7 kB      +14                1 kB",
        "      2     11         +11 kB      +22                1 kB",
        "  → exactly 1 kB of storages and 2 tensors a step, in every round",
    ]


def test_growth_that_is_not_even_is_reported_as_a_spread() -> None:
    uneven = (Round(10, Amounts(objects=10)), Round(10, Amounts(objects=25)))
    assert (
        part(hunt(rounds=uneven), "What each round added")[-1]
        == "  → growing in every round: 1 to 2.5 Python objects a step"
    )


def test_objects_beside_a_rate_that_does_not_move_are_left_out() -> None:
    both = (Round(10, Amounts(objects=10, tensors=10)), Round(10, Amounts(objects=25, tensors=10)))
    conclusion = part(hunt(rounds=both), "What each round added")[-1]
    assert conclusion == "  → exactly 1 tensor a step, in every round"


def test_growth_in_some_rounds_only_is_none() -> None:
    saw = (Round(10, Amounts(objects=10)), Round(10, Amounts(objects=-10)), Round(10, Amounts()))
    assert part(hunt(rounds=saw), "What each round added") == [
        "  round  steps  objects  objects/step",
        "      1     10      +10             1",
        "      2     10      -10            -1",
        "      3     10        .             0",
        "  → nothing grows from round to round",
    ]


def test_proof_sets_the_rates_side_by_side() -> None:
    lines = report_text(hunt(replace(LOSSES, proof=PROVEN)), 120).splitlines()
    start = lines.index("  cut    item of list .history dropped after each step")
    assert lines[start + 1 : start + 3] == [
        "  rate   +1 tensor and 65.5 kB → nothing a step",
        "  proof  ✔ this was the whole cause",
    ]
    failed = replace(PROVEN, is_sufficient=False, after=PROVEN.before, note="still held by a hook")
    text = report_text(hunt(replace(LOSSES, proof=failed)), 120)
    assert "  proof  ✘ growth goes on: not the only cause  still held by a hook\n" in text


def test_a_control_judged_wrongly_takes_the_verdict_back() -> None:
    report = hunt(LOSSES, controls=(Control("a clean twin", "clean", "growth"),))
    assert report_text(report, 120).startswith(
        "could not tell  train.py  unreliable: the planted control 'a clean twin'"
    )
    assert part(report, "Self-check") == ["  ✘ a clean twin: found to grow, but it is clean"]


def test_a_limit_ends_in_the_command_that_lifts_it() -> None:
    assert part(CLEAN, "Not covered") == [
        "  - C++ hooks made before the hunt are not seen → gradlife hunt --scan train.py",
        "  - what other processes hold is not seen",
    ]


def test_trouble_and_a_failed_script_are_reported_at_the_top() -> None:
    report = hunt(LOSSES, trouble="killed by signal 9 at 7.9 of 8.0 GB", script_status=137)
    lines = report_text(report, 120).splitlines()
    assert "  trouble    killed by signal 9 at 7.9 of 8.0 GB" in lines[:6]
    assert "  script     ended with status 137" in lines[:6]


def test_of_many_findings_the_first_are_reported_in_full() -> None:
    many = hunt(*[replace(LOSSES, fingerprint=f"{number:08x}") for number in range(8)])
    text = report_text(many, 120)
    assert text.count("Problem ") == 5
    assert "3 more findings, after the first 5" in text.splitlines()
    assert "  --full shows them all" in text.splitlines()
    assert report_text(many, 120, in_full=True).count("Problem ") == 8


def test_a_chain_of_alike_steps_is_drawn_once_and_counted() -> None:
    chain = tuple(step("AddBackward0", "next edge 0") for _ in range(500))
    trace = replace(HISTORY, steps=(HISTORY.steps[0], *chain, HISTORY.steps[-1]))
    lines = report_text(hunt(replace(LOSSES, trace=trace)), 120).splitlines()
    assert "│    ... and 498 more like it" in lines
    assert sum("AddBackward0" in line for line in lines) <= 4


def test_a_survivor_that_nothing_is_seen_to_hold_is_said_to_be_so() -> None:
    nobody = replace(HISTORY, steps=(), ledger=Ledger(1, (), is_scanned=True))
    text = " ".join(report_text(hunt(replace(LOSSES, trace=nobody)), 120).split())
    assert "their reference counts are higher than the references that can be seen." in text
    assert "1 reference, 1 of which no object explains" in text


def test_code_is_coloured_without_a_change_to_it() -> None:
    code = "if x:  # 'no string'\n    y = 'a # b'\n\n    return 12"
    lines = coloured(code + "\n")
    assert [line.plain for line in lines] == code.split("\n")
    assert [str(span.style) for span in lines[0].spans] == ["magenta", "dim"]
    assert [str(span.style) for span in lines[3].spans] == ["magenta", "cyan"]


def test_several_processes_are_named_in_the_plural() -> None:
    """`Processs 0-1 of 3` stood on the first screen of a program that spawns its workers."""
    row = WorkerRow("process", "run", "0-1", 2, 3, "spawn", "step", "clean", 0, Spread(28, 28), Spread())
    assert name_of(row) == "processes 0-1 of 3"
    assert processes(FindingRanks("0-1", 2, 3, Spread(), "process")) == "2 of 3 processes (0-1)"
    assert processes(FindingRanks("1", 1, 3, Spread(), "process")) == "process 1 of 3"
