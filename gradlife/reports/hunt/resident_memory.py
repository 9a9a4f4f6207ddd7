"""What resident memory is made of: the balance of the last rounds."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model.hunt import HuntReport
from gradlife.model.memory_balance import MemoryBalance
from gradlife.reports.document.blocks import Item, List, Section
from gradlife.reports.document.tables import Column, Table
from gradlife.reports.hunt.sentences import resident_sentence
from gradlife.reports.values import size

#: The parts of a balance, as rows.
PARTS = (
    ("resident", "resident memory"),
    ("tensors", "tensors"),
    ("arrays", "NumPy arrays"),
    ("objects", "Python objects"),
    ("native", "other memory of malloc"),
    ("reserve", "freed, kept for reuse"),
    ("files", "pages of files"),
    ("shared", "shared memory"),
    ("unexplained", "touched or mapped else"),
)

#: Most rounds with a column, the last ones; and the least that makes a row: less is gradlife's own, or a page or two.
COLUMNS, MIN_ROW_BYTES = 4, 65_536


def resident_section(report: HuntReport) -> Iterator[Section]:
    """Yield a row for each part to which one of the last rounds added something, and what grows beside all objects."""
    last = [(at, one) for at, one in enumerate(report.rounds, 1) if one.memory is not None][-COLUMNS:]
    memories = [one.memory for _, one in last if one.memory is not None]
    rows = [row(name, part, memories) for part, name in PARTS if is_shown(part, memories)]
    if report.ranks or not rows:
        return
    heads = [Column("part"), *(Column(f"round {at}", is_number=True) for at, _ in last)]
    sentence = resident_sentence(report)
    said = (List((Item(sentence, mark="→"),)),) if sentence else ()
    yield Section(
        "What each round added to resident memory", (Table("", heads, rows, key="resident"), *said), "resident"
    )


def is_shown(part: str, memories: list[MemoryBalance]) -> bool:
    """Whether some round added or took enough."""
    return any(abs(getattr(one, part)) >= MIN_ROW_BYTES for one in memories)


def row(name: str, part: str, memories: list[MemoryBalance]) -> list[str]:
    """Return a part and its additions."""
    return [name, *(signed(getattr(one, part)) for one in memories)]


def signed(nbytes: int) -> str:
    """Format an addition: +65.5 kB; a dot for less than a page."""
    if abs(nbytes) < 4096:
        return "."
    return ("+" if nbytes > 0 else "-") + size(abs(nbytes))
