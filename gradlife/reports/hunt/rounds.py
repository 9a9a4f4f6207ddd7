"""The rounds of a hunt: charts, a table, and the conclusion from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from gradlife.model.hunt import Amounts, HuntReport, Round
from gradlife.model.ranks import ROUNDS_OF
from gradlife.reports.document.blocks import Block, Charts, Item, List, Section, Series
from gradlife.reports.document.tables import Column, Table
from gradlife.reports.hunt.sentences import listed, number, rate
from gradlife.reports.values import size

#: The measures: field, word for one, column heading. The first is what the headline gives: tensors, and all objects of Python.
MEASURES = (
    ("retained_bytes", "byte", "memory"),
    ("bytes", "byte", "storage bytes"),
    ("tensors", "tensor", "tensors"),
    ("storages", "storage", "storages"),
    ("graph_nodes", "grad node", "nodes"),
    ("objects", "Python object", "objects"),
)
#: The measures in bytes, with what they are bytes of.
BYTES = {"retained_bytes": "", "bytes": " of storages"}
#: Most charts side by side.
CHARTS = 3


def round_section(report: HuntReport) -> Iterator[Section]:
    """Yield the charts, the table, and what grows and what does not."""
    if report.rounds:
        title = "What each round added" + (f" on rank {report.settings.get(ROUNDS_OF, '0')}" if report.ranks else "")
        conclusion = tuple(
            Item(sentence, mark="→", tone="bad" if grows else "good") for sentence, grows in conclusions(report)
        )
        blocks: tuple[Block, ...] = (
            Charts(tuple(charts(report))),
            *round_table(report.rounds, report.step),
            List(conclusion),
        )
        yield Section(title, blocks, "growth")


def charts(report: HuntReport) -> Iterator[Series]:
    """Yield a chart for each of the first measures that grew; of bytes if none did."""
    steps = [one.steps for one in report.rounds]
    for field, _, head in (grown(report.rounds) or MEASURES[:1])[:CHARTS]:
        added = [value_of(one, field) for one in report.rounds]
        yield Series(head, steps, added, partial(figure, field=field), "bad" if min(added) > 0 else "good")


def grown(rounds: Sequence[Round]) -> list[tuple[str, str, str]]:
    """Return the measures to which a round added something."""
    return [one for one in MEASURES if any(value_of(each, one[0]) for each in rounds)]


def round_table(rounds: Sequence[Round], step: str = "step") -> Iterator[Table]:
    """Yield a table with a row per round, if any round added something. Storages have a column if there is not one a tensor."""
    is_alike = all(value_of(one, "storages") == value_of(one, "tensors") for one in rounds)
    if shown := [one for one in grown(rounds) if not (is_alike and one[0] == "storages")]:
        heads = ["round", f"{step}s", *(head for _, _, head in shown), f"{shown[0][2]}/{step}"]
        rows = [row(at, one, [field for field, _, _ in shown]) for at, one in enumerate(rounds, 1)]
        yield Table(
            "Each round in numbers",
            [Column(head, is_number=True) for head in heads],
            rows,
            key="rounds",
            is_folded=True,
        )


def row(at: int, one: Round, fields: list[str]) -> list[str]:
    """Return a round's number, its steps, its additions, and the first addition per step."""
    per_step = figure(value_of(one, fields[0]) / max(one.steps, 1), fields[0])
    return [str(at), str(one.steps), *(plus(one.added, field) for field in fields), per_step]


def conclusions(report: HuntReport) -> Iterator[tuple[str, bool]]:
    """Yield sentences about constant and other growth, each with whether something grows."""
    exact, more = [], []
    is_objects_alone = True
    for field, word, _ in MEASURES:
        rates = [value_of(one, field) / one.steps for one in report.rounds if one.steps]
        if not rates or min(rates) <= 0:
            continue
        if max(rates) - min(rates) <= 1e-9 * max(rates):
            exact.append(f"{size(round(rates[0]))}{BYTES[field]}" if field in BYTES else rate(rates[0], word))
        else:
            more.append(spread(rates, field, word))
            is_objects_alone = is_objects_alone and field in {"objects", "retained_bytes"}
    if exact and is_objects_alone:  # a few Python objects beside what is exact say nothing more
        more = []
    if exact:
        yield f"exactly {listed(exact)} a {report.step}, in every round", True
    if more:
        yield f"{'also ' if exact else ''}growing in every round: {listed(more)} a {report.step}", True
    if not exact and not more:
        yield "nothing grows from round to round", False


def spread(rates: list[float], field: str, word: str) -> str:
    """Format a range: 3.9 kB to 4.1 kB of storages, 1 to 2 objects."""
    least, most = min(rates), max(rates)
    if field in BYTES:
        return f"{size(round(least))} to {size(round(most))}{BYTES[field]}"
    return f"{number(least)} to {rate(most, word)}"


def value_of(one: Round, field: str) -> float:
    """Return what a round added to one measure."""
    return float(getattr(one.added, field))


def plus(added: Amounts, field: str) -> str:
    """Format an addition: +65.5 kB; +7; a dot for nothing."""
    value = float(getattr(added, field))
    return ("+" if value > 0 else "") + figure(value, field) if value else "."


def figure(value: float, field: str) -> str:
    """Format a figure of a column."""
    if field in BYTES:
        return ("-" if value < 0 else "") + size(abs(round(value)))
    return number(value)
