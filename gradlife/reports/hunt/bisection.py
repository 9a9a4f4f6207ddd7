"""The result of a bisection: the first bad commit or release, and the finding that it brought."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from gradlife._version import __version__
from gradlife.model.bisection import Bisected, Candidate
from gradlife.model.from_json import encodable
from gradlife.model.hunt import Finding
from gradlife.model.hunt_codec import encode_finding
from gradlife.model.trace import text_of, trace_lines
from gradlife.reports.document.blocks import Document, Item, List, Paragraph, Section, Span, Tone
from gradlife.reports.hunt.answer import name_of_holder
from gradlife.reports.hunt.finding import grown
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import BAD, NOTE, QUIET, TITLE
from gradlife.reports.visible_report import shows_report

FORMAT = "gradlife.bisect/1"


@shows_report
def print_bisection(console: Console, result: Bisected) -> None:
    """Print the result."""
    for line in lines(result):
        console.print(line, end="")


def lines(result: Bisected) -> Iterator[Hanging]:
    """Yield the first bad one, or those that it may be, and the finding."""
    *_, last = result.suspects
    if result.is_certain:
        yield Hanging(Text("first bad: ", BAD), Text(described(last), TITLE))
    else:
        yield Hanging(Text("could not tell: ", NOTE), Text(several(result)))
        yield from (Hanging(Text("  "), Text(described(one))) for one in result.suspects)
    yield Hanging(Text(""), Text(sentence(result.finding)))
    if stored(result.finding):
        yield Hanging(Text(""), Text(stored(result.finding), QUIET))


def several(result: Bisected) -> str:
    """Say that the first bad one is one of several."""
    return f"it is one of these {len(result.suspects)}; all but the last were skipped"


def described(one: Candidate) -> str:
    """Return a commit with its date and subject, or a release."""
    return " ".join(part for part in (one.name, one.date, one.title) if part)


def sentence(finding: Finding) -> str:
    """Return what leaks, and how fast."""
    holder = name_of_holder(finding.trace, finding.grows_at)
    name = f"{holder}: " if holder else ""
    return f"{finding.code} {name}{finding.title}: {grown(finding.per_step)} a step"


def stored(finding: Finding) -> str:
    """Return the line that stores it; empty if no line of the program does."""
    place = finding.stored_at
    return f"{place.file}:{place.line}   {place.source}" if place is not None else ""


@shows_report
def bisection_document(result: Bisected) -> Document:
    """Return the result with all that was hunted in."""
    *_, last = result.suspects
    word = "first bad" if result.is_certain else "could not tell"
    tone: Tone = "bad" if result.is_certain else "note"
    headline = described(last) if result.is_certain else several(result)
    suspects = () if result.is_certain else (List(tuple(Item(described(one)) for one in result.suspects)),)
    place = stored(result.finding)
    line = Paragraph(Span(place, is_code=True)) if place else Paragraph("No line of the program stores it.")
    rows = tuple(
        Item(described(one.candidate) + (f": {one.why}" if one.why else ""), lead=one.outcome.value)
        for one in result.judged
    )
    sections = (Section(sentence(result.finding), (line,)), Section("What was hunted in", (List(rows),)))
    return Document("Bisection", "gradlife bisect", word, tone, "", headline, suspects, sections)


def bisection_text(result: Bisected) -> str:
    """Return the result as JSON."""
    document = {
        "format": FORMAT,
        "gradlife": __version__,
        "first_bad": asdict(result.suspects[0]) if result.is_certain else None,
        "suspects": [asdict(one) for one in result.suspects],
        "finding": encode_finding(result.finding, lambda trace: text_of(trace_lines(trace))),
        "judged": [
            {**asdict(one.candidate), "outcome": one.outcome.value.lower(), "why": one.why} for one in result.judged
        ],
    }
    return encodable(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)) + "\n"
