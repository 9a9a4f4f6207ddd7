"""What a page says about one living object: trace, references and neighbourhood."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence

from gradlife.model.heap_map import MappedObject, OtherEnd
from gradlife.model.trace import Ledger, Lifetime, Referrer, Trace, head, sentence
from gradlife.reports.document.blocks import (
    Block,
    Commands,
    Document,
    Facts,
    Item,
    List,
    Paragraph,
    Section,
    Span,
    Tone,
    TraceBlock,
)
from gradlife.reports.document.tables import Cell, Column, Table
from gradlife.reports.values import counted, short, short_name, size
from gradlife.reports.visible_report import shows_report

TONES: dict[Lifetime, Tone] = {
    Lifetime.HELD: "held",
    Lifetime.GC: "note",
    Lifetime.NEVER: "bad",
    Lifetime.UNKNOWN: "quiet",
}
#: Most referrers to show.
REFERRERS = 100


@shows_report
def object_document(trace: Trace, file: str = "", around: MappedObject | None = None) -> Document:
    """Return why an object is alive. `around` comes from a snapshot, whose file can answer more."""
    name = f"{trace.object} {trace.detail}".strip()
    blocks: list[Block] = [Paragraph(sentence(trace))]
    sections = [Section("Who holds it", (TraceBlock(trace, "", is_leak=False),)), reference_section(trace.ledger)]
    if around is not None:
        blocks.append(Facts(tuple(facts(around))))
        sections += [*neighbour_sections(around), Section("More", (Commands(tuple(commands(file, around))),))]
    if trace.limits:
        sections.append(Section("What could not be seen", (List(tuple(map(Item, trace.limits))),)))
    words = f"It {head(trace)}."
    lifetime = trace.lifetime
    title = f"Why {name} is alive"
    return Document(title, "gradlife why", lifetime.value, TONES[lifetime], name, words, tuple(blocks), tuple(sections))


def reference_section(ledger: Ledger) -> Section:
    """Return who refers to the object."""
    shown = ledger.referrers[:REFERRERS]
    items = [*map(referrer, shown)]
    if rest := len(ledger.referrers) - len(shown) + ledger.more_referrers:
        items.append(Item(f"and {rest:,} more that are known", tone="quiet"))
    if ledger.unaccounted:
        items.append(Item(f"{ledger.unaccounted:,} that no object explains", tone="bad"))
    return Section(counted(ledger.count, "reference"), (List(tuple(items)),))


def referrer(one: Referrer) -> Item:
    """Describe a referrer and its reference."""
    native = ", which the collector does not see" if one.is_native else ""
    return Item((Span(f"{one.object} {one.detail}".strip(), "title"), f": {one.via}{native}"))


def facts(around: MappedObject) -> Iterator[tuple[str, str]]:
    """Yield the facts that a snapshot has about the object."""
    yield "type", around.type
    yield "address", f"{around.address:#x}"
    yield "itself", size(around.bytes)
    yield "retains", size(around.retained)
    yield from ((f"storages on {device}", size(nbytes)) for device, nbytes in around.storages)


def neighbour_sections(around: MappedObject) -> Iterator[Section]:
    """Yield its referrers, its referents, and the objects that it alone keeps."""
    for title, key, found, count in (
        ("Referred to by", "referrers", around.referrers, around.referrer_count),
        ("Refers to", "referents", around.referents, around.referent_count),
        ("Keeps alone", "kept", around.kept, around.kept_count),
    ):
        yield Section(f"{title} ({count:,})", tuple(neighbours(found, count, f"{key}-table")), key)


def neighbours(found: Sequence[OtherEnd], count: int, key: str) -> Iterator[Block]:
    """Yield one list of neighbours."""
    columns = [Column("object"), Column("by"), Column("retains", True)]
    rows: list[list[Cell | str | int | float]] = [
        [f"{short_name(one.type)} {one.detail}".strip(), one.via, Cell(size(one.retained), one.retained)]
        for one in found
    ]
    yield Table("What would be freed with each", columns, rows, key=key)
    if count > len(found):
        yield Paragraph(f"and {count - len(found):,} more", tone="quiet")


def commands(file: str, around: MappedObject) -> Iterator[tuple[str, str]]:
    """Yield the commands that show more."""
    name = shlex.quote(short(file))
    page = shlex.quote(os.path.basename(short(file)) + ".html")
    yield f"gradlife open {name} -i", "every object, asked at a prompt"
    yield f"gradlife open {name} --html {page}", "the whole snapshot"
    yield f"gradlife open {name} --instances {shlex.quote(short(around.type))}", "others of its type"
