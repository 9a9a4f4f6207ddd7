"""A neighbourhood in the DOT language, in the style of objgraph: the farther an object, the darker its box."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradlife.model.neighbourhood import Neighbour, Neighbourhood, Role, Tie
from gradlife.model.trace import HEADS, Lifetime
from gradlife.reports.values import counted, size
from gradlife.reports.visible_report import shows_report

#: Fill and outline of a box.
LOOKS = {
    Role.TARGET: ("#fdeaea", "#a51220"),
    Role.ROOT: ("#e4f5e9", "#14632b"),
    Role.RING: ("#f7e9fc", "#7a2697"),
    Role.PATH: ("#ffffff", "#1a1f26"),
    Role.KEPT: ("#eef1f4", "#525c68"),
    Role.UNSEEN: ("#ffffff", "#a51220"),
}
SUSPECT = "#a51220"

#: Most characters of a line in a box; a longer name is cut.
MOST = 48

#: Characters that graphviz would read as the end of a label or an escape, or cannot draw.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


@shows_report
def dot_text(around: Neighbourhood) -> str:
    """Return the picture in the DOT language."""
    return "\n".join(lines(around)) + "\n"


def lines(around: Neighbourhood) -> Iterator[str]:
    """Yield the lines of the DOT file."""
    yield "digraph gradlife {"
    yield f'  graph [label={quoted(title(around))}, labelloc=t, fontname="sans-serif", rankdir=TB];'
    yield '  node [shape=box, style=filled, fontname="sans-serif", fontsize=11];'
    yield '  edge [fontname="sans-serif", fontsize=10, color="#525c68"];'
    yield from map(box, around.neighbours)
    yield from map(arrow, around.ties)
    yield "}"


def title(around: Neighbourhood) -> str:
    """Return the title of the graph."""
    lines = [f"{around.title} {HEADS[Lifetime(around.lifetime)]}"]
    if around.more_referrers:
        lines.append(f"{counted(around.more_referrers, 'more object refers', 'more objects refer')} to it")
    if around.more_referents:
        lines.append(f"it refers to {counted(around.more_referents, 'more object')}")
    return "\n".join(lines)


def box(one: Neighbour) -> str:
    """Return the DOT statement of an object."""
    fill, line = LOOKS[one.role]
    rows = [one.object, one.detail, retained(one)]
    style = {Role.UNSEEN: "dashed", Role.TARGET: "filled,bold", Role.RING: "filled,bold"}.get(one.role, "filled")
    label = quoted("\n".join(cut(row) for row in rows if row))
    return f'  {name_of(one.id)} [label={label}, fillcolor="{fill}", color="{line}", style="{style}", tooltip={label}];'


def retained(one: Neighbour) -> str:
    """Return the retained size as text if it is more than a little."""
    return f"keeps {size(one.retained)}" if one.retained >= 1024 and one.role is not Role.ROOT else ""


def arrow(tie: Tie) -> str:
    """Return the DOT statement of a reference: red if it is suspect, dashed if the collector does not see it."""
    looks = [f"label={quoted(cut(tie.via))}"]
    if tie.is_suspect:
        looks += [f'color="{SUSPECT}"', f'fontcolor="{SUSPECT}"', "penwidth=2"]
    if tie.is_native:
        looks.append("style=dashed")
    return f"  {name_of(tie.source)} -> {name_of(tie.target)} [{', '.join(looks)}];"


def name_of(number: int) -> str:
    """Return an object's name in the graph."""
    return f"n{number}" if number >= 0 else "unseen"


def cut(text: str) -> str:
    """Cut a text so that it fits a box."""
    return text if len(text) <= MOST else text[: MOST - 1] + "…"


def quoted(text: str) -> str:
    """Quote a text for graphviz: escapes for quotes, backslashes and new lines."""
    rows = (CONTROL.sub("\ufffd", row).replace("\\", "\\\\").replace('"', '\\"') for row in text.split("\n"))
    return '"' + "\\n".join(rows) + '"'
