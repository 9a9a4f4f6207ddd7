"""Every text of every report may come from a stranger. None reaches an output as a control character, a line of its own
or a command to a CI runner, whichever field it is in and whichever format is written.
"""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from rich.text import Text

import fabricated
import fabricated_devices
import fabricated_heaps
import fabricated_hunts
import fabricated_peaks
from gradlife.cli.bisect import WRITERS as BISECTION_WRITERS
from gradlife.cli.formats import visible_text
from gradlife.cli.hunt import WRITERS as HUNT_WRITERS
from gradlife.cli.peak import WRITERS as PEAK_WRITERS
from gradlife.errors import GradlifeError, UsageError
from gradlife.model import hunt_codec
from gradlife.model.bisection import Bisected, Candidate, Judged, Outcome
from gradlife.model.checkup import Checkup, Health, Sign
from gradlife.model.device import codec as device_codec
from gradlife.model.heap import Meaning
from gradlife.model.hunt import HELD, HuntReport
from gradlife.model.neighbourhood import Neighbourhood
from gradlife.model.peak.report import PeakReport
from gradlife.model.system import EnvironmentInfo
from gradlife.model.trace import Trace
from gradlife.model.watching.out_of_memory import Growth, HeldByStep, LiveOwner, OutOfMemory
from gradlife.output import open_output, say
from gradlife.pytest_plugin.outcomes import github, messages, summary
from gradlife.pytest_plugin.outcomes.baseline import Baseline, Known
from gradlife.pytest_plugin.outcomes.results import Checked, Entry, Section
from gradlife.reports.devices.out_of_memory import print_out_of_memory
from gradlife.reports.devices.terminal import print_devices
from gradlife.reports.doctor import print_checkup
from gradlife.reports.environments import print_environments
from gradlife.reports.formats.dot.neighbourhood import dot_text
from gradlife.reports.formats.github.annotations import hunt_annotations, run_annotations
from gradlife.reports.formats.json import document
from gradlife.reports.formats.junit.run import run_junit
from gradlife.reports.formats.markdown.document import markdown_of
from gradlife.reports.formats.patch.hunt import hunt_patch
from gradlife.reports.formats.sarif.findings import run_sarif
from gradlife.reports.heap.diff import print_diff
from gradlife.reports.heap.tables import print_heap
from gradlife.reports.heap.why import render_trace, render_why
from gradlife.reports.html.devices import device_page
from gradlife.reports.html.document import diff_page, why_page
from gradlife.reports.html.fragments import fragment
from gradlife.reports.html.heap import heap_page
from gradlife.reports.html.run import run_page
from gradlife.reports.hunt.bisection import print_bisection
from gradlife.reports.hunt.first_screen import print_first_screen
from gradlife.reports.hunt.fix import print_fix
from gradlife.reports.hunt.terminal import print_hunt
from gradlife.reports.peak.terminal import print_peak
from gradlife.reports.run.listing import print_list
from gradlife.reports.run.run import print_report
from gradlife.reports.run.summary import print_summary
from gradlife.reports.svg import svg_of
from gradlife.reports.theme import make_console
from gradlife.visible_text import visible, visible_json, visible_lines
from sources import ROOT

#: What a terminal, a reader of lines, a browser and a CI runner would act on.
COMMANDS = ("::error::forged", "##[error]forged", "##vso[task.complete]forged", "##teamcity[forged]")
EVIL = "\x1b[31m\x9b\x07\x7f\r\u202e\u2066\u2028\u200f" + "".join(f"\n{one}" for one in COMMANDS)
SPELT = "u202e"

#: Most objects of a report: a generated one that nests without a bound would fill the machine.
MOST_OBJECTS = 20_000
DEEPEST = 6

#: Fields that number an item of another field.
INDEXES = frozenset({"owner", "grows_at"})

#: Texts that are words of gradlife: a reader refuses others, or a page looks them up in a table.
OWN_WORDS = {
    ("status", "Reading"),
}  # fmt: skip


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


class Hostile:
    """Reports with hostile text at the end of each text, and one item where there is none."""

    def __init__(self) -> None:
        self.objects = 0
        self.texts = 0

    def report(self, value: Any) -> Any:
        """A copy of a report in which every field of text is hostile."""
        return self.filled(type(value), value, DEEPEST)

    def made(self, hint: Any, depth: int) -> Any:
        """A new value of an annotated type."""
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            return self.made(next(one for one in arguments if one is not NoneType), depth) if depth > 0 else None
        if origin is tuple:
            return () if arguments[-1] is Ellipsis else tuple(self.made(one, depth) for one in arguments)
        if origin is dict or hint is dict:
            return {}
        if isinstance(hint, type) and issubclass(hint, Enum):
            return next(iter(hint))
        if isinstance(hint, type) and is_dataclass(hint):
            types = hints_of(hint)
            return hint(
                **{
                    one.name: 0
                    if one.name in INDEXES and types[one.name] is int
                    else self.made(types[one.name], depth - 1)
                    for one in fields(hint)
                    if one.init
                }
            )
        return {str: "", int: 1, float: 1.0, bool: False}.get(hint)

    def filled(self, hint: Any, value: Any, depth: int) -> Any:
        """The value with hostile texts, down to a depth."""
        self.objects += 1
        assert self.objects < MOST_OBJECTS
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            inner = next(one for one in arguments if one is not NoneType)
            if value is None and depth > 0 and (inner is str or is_dataclass(inner)):
                value = self.made(inner, depth)
            return None if value is None else self.filled(inner, value, depth)
        if isinstance(value, str) and not isinstance(value, Enum):
            self.texts += 1
            return value if value.endswith(EVIL) else value + EVIL
        if isinstance(value, tuple):
            return self.items(arguments, value, depth)
        if isinstance(value, dict):
            return {self.filled(str, key, depth): item for key, item in value.items()} if value else value
        return self.dataclass(value, depth) if is_dataclass(value) and not isinstance(value, type) else value

    def items(self, hints: tuple[Any, ...], value: tuple[Any, ...], depth: int) -> tuple[Any, ...]:
        """The items of a tuple; of one without an item, one that is made."""
        if len(hints) == 2 and hints[1] is Ellipsis:
            if not value and depth > 0:
                value = (self.made(hints[0], depth - 1),)
            hints = (hints[0],) * len(value)
        return tuple(self.filled(hint, one, depth - 1) for hint, one in zip(hints, value, strict=True))

    def dataclass(self, value: Any, depth: int) -> Any:
        kind = type(value)
        types = hints_of(kind)  # type: ignore[arg-type]
        changed = {
            one.name: self.filled(types[one.name], getattr(value, one.name), depth - 1)
            for one in fields(kind)
            if one.init and (one.name, kind.__name__) not in OWN_WORDS
        }
        return kind(**{**{one.name: getattr(value, one.name) for one in fields(kind) if one.init}, **changed})


def printed(show: Callable[[Any], object]) -> str:
    """What a function prints on a terminal of 100 columns without colours."""
    file = io.StringIO()
    show(make_console(file, 100, color=False))
    return file.getvalue()


OOM = OutOfMemory(
    "MemoryError: 8 GB", "12:00:00", 1, None, 1 << 30, 1 << 31, {"cpu": 1 << 20},
    (LiveOwner("global variable 'runs': list", 1 << 20),), (Growth("list", 3, 4),),
    (HeldByStep(HELD, "local variable 'out' of step, train.py:14: Tensor", 1 << 20, 2),), (fabricated_devices.memory(),),
)  # fmt: skip
SUITE = summary.SuiteResult(
    (Checked("tests/test_train.py::test_step", entries=(Entry(fabricated_hunts.LOSSES, Section.NEW, "why"),)),),
    Baseline({"7c1e": Known("7c1e", "GL402", "a list", ("t.py::t",), "known", "gh#1", "2020-01-01")}),
)
COMMIT = Candidate("aaaa", "a" * 40, "Keep rows", "2026-03-01")
BISECTED = Bisected((COMMIT, COMMIT), fabricated_hunts.LOSSES, (Judged(COMMIT, Outcome.SKIPPED, "no module"),))
NEIGHBOURS = Neighbourhood("Tensor", fabricated_hunts.HISTORY.lifetime, (), ())
CHECKUP = Checkup((Sign("Python", "version", "3.11", Health.BROKEN, "install it"),))


def hunt_formats(report: HuntReport) -> Iterator[tuple[str, str]]:
    if report.against is not None:
        yield from hunt_formats(replace(report, against=None))
    yield from written(HUNT_WRITERS, report)
    yield "terminal", printed(lambda console: print_first_screen(console, report))
    yield "terminal", printed(lambda console: print_hunt(console, report))
    yield "terminal", printed(lambda console: print_fix(console, report.findings, "written", "gradlife hunt"))
    yield "github", "\n".join(hunt_annotations(report))
    yield "html", fragment(report)
    yield "text", str(report)


def peak_formats(report: PeakReport) -> Iterator[tuple[str, str]]:
    if report.against is not None:
        yield from peak_formats(replace(report, against=None))
    yield from written(PEAK_WRITERS, report)
    yield "terminal", printed(lambda console: print_peak(console, report))
    yield "terminal", printed(lambda console: print_peak(console, report, in_full=True))


def bisection_formats(result: Bisected) -> Iterator[tuple[str, str]]:
    yield from written(BISECTION_WRITERS, result)
    yield "terminal", printed(lambda console: print_bisection(console, result))


def run_formats(report: Any) -> Iterator[tuple[str, str]]:
    yield "json", visible_json(document.run_text(report))
    yield "sarif", visible_json(run_sarif(report))
    yield "html", run_page(report)
    yield "xml", visible_lines(run_junit(report))
    yield "markdown", visible_lines(markdown_of(report))
    yield "terminal", printed(lambda console: print_report(console, report, in_full=True))
    yield "terminal", printed(lambda console: print_summary(console, report))
    yield "terminal", printed(lambda console: print_list(console, report.scenarios))
    yield "json", visible_json(document.list_text(report.scenarios))
    yield "github", "\n".join(run_annotations(report))


def device_formats(report: Any) -> Iterator[tuple[str, str]]:
    yield "json", visible_json(device_codec.dumps(report))
    yield "html", device_page(report)
    yield "terminal", printed(lambda console: print_devices(console, report, in_full=True))
    yield "svg", svg_of(lambda console: print_devices(console, report), report.source)


def out_of_memory_formats(report: OutOfMemory) -> Iterator[tuple[str, str]]:
    yield "json", visible_json(report.dumps())
    yield "terminal", printed(lambda console: print_out_of_memory(console, report, EVIL, in_full=True))


def heap_formats(view: Any) -> Iterator[tuple[str, str]]:
    yield "json", visible_json(document.heap_text(view))
    yield "html", heap_page(view, Hostile().report(fabricated_heaps.heap()))
    yield "terminal", printed(lambda console: print_heap(console, view))


def diff_formats(difference: Any) -> Iterator[tuple[str, str]]:
    yield "json", visible_json(document.diff_text(difference))
    yield "html", diff_page(difference, EVIL, EVIL)
    yield "terminal", printed(lambda console: print_diff(console, difference, 9))
    yield "terminal", printed(lambda console: print_diff(console, difference, 9, is_all=True))


def trace_formats(trace: Trace) -> Iterator[tuple[str, str]]:
    yield "json", visible_json(document.trace_text(trace))
    yield "html", why_page(trace, EVIL)
    yield "html", fragment(trace)
    yield "terminal", printed(lambda console: console.print(render_trace(trace)))
    meanings = [Meaning(1, EVIL, EVIL, is_one_of_many=True), Meaning(2, EVIL, EVIL)]
    yield "terminal", printed(lambda console: console.print(render_why(trace, EVIL, meanings, EVIL)))
    yield "text", str(trace)
    yield "text", str(trace.ledger)


def suite_formats(suite: Any) -> Iterator[tuple[str, str]]:
    yield "text", "\n".join(summary.lines(suite, 2))
    yield "github", "\n".join(github.lines(suite, Path(), None))
    for verbosity in (0, 2):
        yield "text", messages.failure(suite.checked[0], verbosity)


def other_formats(values: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    checkup, environments, neighbours = values
    yield "terminal", printed(lambda console: print_checkup(console, checkup))
    yield "json", visible_json(document.checkup_text(checkup))
    yield "terminal", printed(lambda console: print_environments(console, [environments]))
    yield "json", visible_json(document.environments_text([environments]))
    yield "dot", visible_lines(dot_text(neighbours))


def written(writers: Any, report: Any) -> Iterator[tuple[str, str]]:
    """Each format of a command, as its output file gets it."""
    from gradlife.cli.formats import Outputs

    outputs = Outputs(__import__("argparse").Namespace(), writers)
    for name in writers:
        made = visible_text(name, outputs.writer(name)(report))
        assert isinstance(made, str)
        yield name, made


REPORTS: dict[str, tuple[Callable[[Any], Iterator[tuple[str, str]]], Any]] = {
    "a hunt": (hunt_formats, fabricated_hunts.EVERYTHING),
    "a peak": (peak_formats, fabricated_peaks.PICTURED),
    "a bisection": (bisection_formats, BISECTED),
    "a run": (run_formats, fabricated.troubled()),
    "a device": (device_formats, fabricated_devices.report()),
    "memory that ran out": (out_of_memory_formats, OOM),
    "a heap": (heap_formats, fabricated_heaps.view()),
    "a difference": (diff_formats, fabricated_heaps.DIFF),
    "a trace": (trace_formats, fabricated_hunts.HISTORY),
    "a suite of tests": (suite_formats, SUITE),
    "a checkup, an environment, a neighbourhood": (
        other_formats,
        (CHECKUP, EnvironmentInfo("torch-2.9", True, "3.11", "torch", "2.9", (), "/env", 1), NEIGHBOURS),
    ),
}


def harm_in(name: str, text: str) -> list[str]:
    """What a reader of the bytes would act on, with the text around it."""
    found = [text[max(0, one.start() - 60) : one.end() + 20] for one in re.finditer(r"##\[|##vso\[|##teamcity\[", text)]
    found += [
        text[max(0, at - 60) : at + 20] for at, one in enumerate(text) if not (one.isprintable() or one in "\n\t")
    ]
    rows = text.split("\n")
    if name == "github":
        return found + [row for row in rows if row and not re.match(r"::(error|warning) (file|title)=", row)]
    return found + [row for row in rows if re.match(r"\s*::.*::", row)]


@pytest.mark.parametrize("report", REPORTS)
def test_no_field_of_a_report_acts_on_its_reader(report: str) -> None:
    formats, value = REPORTS[report]
    hostile = Hostile()
    evil = tuple(map(hostile.report, value)) if isinstance(value, tuple) else hostile.report(value)
    harm, spelt = {}, set()
    for name, text in formats(evil):
        harm[name] = harm_in(name, text)
        spelt |= {name} if SPELT in text else set()
    assert {name: found[:3] for name, found in harm.items() if found} == {}
    assert spelt >= set(harm) - {"patch"}
    assert hostile.texts > 2


def test_no_text_of_a_field_begins_a_line_of_its_own() -> None:
    evil = Hostile().report(fabricated_hunts.EVERYTHING)
    for name, text in (*hunt_formats(evil), *heap_formats(Hostile().report(fabricated_heaps.view()))):
        if name in {"terminal", "markdown"}:
            assert [row for row in text.split("\n") if row.strip().endswith("]forged") and "x23" not in row] == []


def test_json_gives_back_what_a_field_had() -> None:
    evil = Hostile().report(fabricated_hunts.EVERYTHING)
    text = visible_json(document.hunt_text(evil))
    assert json.loads(text)["target"] == evil.target
    assert text.isascii() or text.replace("\n", "").isprintable()
    assert hunt_codec.loads(text).target == evil.target


def test_a_patch_with_control_characters_is_left_out_and_others_stay() -> None:
    losses = fabricated_hunts.LOSSES
    assert losses.patch is None
    from dataclasses import replace

    from gradlife.model.hunt import Patch

    def patch(line: str) -> Patch:
        return Patch(f"--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-{line}\n+b\n", (line,), ("b",))

    whole, evil = patch("\ta"), patch("a\x1b[31m")
    report = fabricated_hunts.hunt(replace(losses, patch=whole), replace(losses, patch=evil))
    reason = "# left out: lines of train.py have control characters; gradlife hunt --fix --write\n"
    assert hunt_patch(report) == whole.diff + reason


def test_a_line_that_git_reads_as_context_is_no_command() -> None:
    from dataclasses import replace

    from gradlife.model.hunt import Patch

    diff = "--- a/train.py\n+++ b/train.py\n@@ -1,2 +1,2 @@\n ::error::forged\n-a\n+b\n"
    report = fabricated_hunts.hunt(replace(fabricated_hunts.LOSSES, patch=Patch(diff, ("a",), ("b",))))
    assert hunt_patch(report).startswith("# left out: lines of train.py")


def test_an_error_is_one_line_that_nobody_acts_on(capsys: pytest.CaptureFixture[str]) -> None:
    error = GradlifeError(f"cannot read {EVIL}", EVIL)
    say(str(error))
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert harm_in("text", text) == []
    assert SPELT in text
    assert str(UsageError("plain", "words")) == "plain (try: words)"


def test_a_wrapped_word_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = "x" * 99 + " ::error::forged"
    assert harm_in("terminal", printed(lambda console: console.print(Text(words)))) == []


@pytest.mark.parametrize("to", ["-", "file"])
def test_no_output_of_a_report_has_a_raw_character(to: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = to if to == "-" else str(tmp_path / to)
    with open_output(path) as output:
        output.write(f"a line\n{EVIL}\n")
    text = capsys.readouterr().out if to == "-" else Path(path).read_text(encoding="utf-8")
    assert harm_in("text", text) == []
    assert SPELT in text


def test_all_messages_go_through_one_function() -> None:
    own = {"gradlife/output.py": 1, "gradlife/attach/in_debugger.py": 1, "gradlife/program/script.py": 1}
    found: dict[str, int] = {}
    for path in sorted((ROOT / "gradlife").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(("gradlife/engine/", "gradlife/runner/")):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                found[name] = found.get(name, 0) + 1
    assert found == own


def test_what_can_be_printed_stays_as_it_is() -> None:
    plain = "Größe 測定 🙂 std::vector<at::Tensor>\n\ta::b::c # [x] ## y\n"
    assert visible_lines(plain) == visible_json(plain.replace("\t", "")).replace("a::b", "\ta::b") == plain
    assert visible("a\tb\n") == r"a\tb\n"
    assert visible_lines("  ::error::x\n::debug x=1::y") == "  \\x3a:error::x\n\\x3a:debug x=1::y"
    assert json.loads(visible_json('"\u202e \U000e0001 \x7f ##[group]"')) == "\u202e \U000e0001 \x7f ##[group]"
