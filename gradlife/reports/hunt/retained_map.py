"""A treemap of the memory that the findings of a hunt retain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradlife.model.heap import TypeCount
from gradlife.model.hunt import Explained, Finding, FindingKind
from gradlife.reports.drawing import Cell, Svg, treemap
from gradlife.reports.values import short, short_name, size

#: Most findings with a rectangle; the others share one.
MOST = 60
HEIGHT = 260.0

#: A finding and its number in the report.
Numbered = tuple[int, Finding]


def retained_map(findings: Sequence[Numbered], explained: Sequence[Explained], cards: int, width: float) -> Svg:
    """Draw the retained bytes of findings and of intended growth. Findings with a number up to `cards` link to a card."""
    total = sum(one.retained_bytes for _, one in findings) + sum(one.bytes for one in explained)
    cells = [*finding_cells(findings, cards, total), *meant_cells(explained, total)]
    text = "; ".join(cell.description for cell in cells[:8])
    return treemap(cells, width, HEIGHT, "What the findings keep, by retained bytes", text)


def finding_cells(findings: Sequence[Numbered], cards: int, total: int) -> Iterator[Cell]:
    """Return a cell per finding, for the largest ones."""
    found = sorted(findings, key=lambda one: -one[1].retained_bytes)
    for number, one in found[:MOST]:
        yield finding_cell(one, number, f"#finding-{number}" if number <= cards else "", total)
    rest = sum(one.retained_bytes for _, one in found[MOST:])
    if rest:
        yield cell(f"{len(found) - MOST:,} other findings", rest, total, "quiet")


def finding_cell(finding: Finding, number: int, link: str, total: int) -> Cell:
    """Return the cell of one finding."""
    tone = "gc" if finding.kind is FindingKind.NEEDS_GC else "bad"
    whole = cell(f"{number}. {finding.code} {short(finding.title, 80)}", finding.retained_bytes, total, tone, link)
    return replace(whole, parts=tuple(type_cell(one, total, tone, link) for one in finding.retained_types))


def type_cell(one: TypeCount, total: int, tone: str, link: str) -> Cell:
    """Return the cell for one type that a finding retains, with a link to the finding."""
    count = f"{one.count:,} " if one.count else ""
    return cell(count + short(short_name(one.type), 80), one.bytes, total, tone, link)


def meant_cells(explained: Sequence[Explained], total: int) -> Iterator[Cell]:
    """Return the cells of intended growth."""
    for one in explained:
        yield cell(f"meant: {one.kind}, {short(one.what, 80)}", one.bytes, total, "good")


def cell(label: str, nbytes: int, total: int, tone: str, link: str = "") -> Cell:
    """Return a cell with its bytes and share."""
    return Cell(label, nbytes, f"{label}: {size(nbytes)}, {nbytes / total:.0%}", size(nbytes), tone, link)
