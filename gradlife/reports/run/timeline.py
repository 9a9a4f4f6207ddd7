"""The engine's events of one story as lanes: a lane per object, time from left to right, one column per event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from gradlife.model import Event
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE

#: The letter of each kind of event, and its colour.
LETTERS = {
    "created": ("C", GOOD),
    "wrapped": ("W", "cyan"),
    "dropped": ("D", NOTE),
    "flipped": ("F", NOTE),
    "resurrected": ("R", NOTE),
    "saved": ("S", "cyan"),
    "packed": ("P", "cyan"),
    "unpacked": ("U", "cyan"),
    "released": ("L", "cyan"),
    "hook": ("H", NOTE),
    "destroyed": ("X", BAD),
}
OTHER = ("?", QUIET)

#: The sign between two events of a live object, and after its last one if nothing destroyed it.
LIFE, BARRIER = ("─", "-"), ("│", "|")
WIDEST_LABEL = 24
TICK = 10


@dataclass
class Lane:
    """One object: its label, and the kind of its event in each column that has one."""

    label: str
    kinds: dict[int, str] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """The column of its first event."""
        return min(self.kinds)

    @property
    def end(self) -> int | None:
        """The column in which it was destroyed."""
        return next((column for column, kind in self.kinds.items() if kind == "destroyed"), None)

    def lives_at(self, column: int) -> bool:
        """Whether the object is known to live between two events, or to have outlived the last."""
        return column > self.first and (self.end is None or column < self.end)


def make_lanes(events: Sequence[Event]) -> list[Lane]:
    """Return a lane per object, in the order of first appearance, numbered if several have the same name."""
    names: dict[tuple[str, str], str] = {}
    lanes: dict[tuple[str, str], Lane] = {}
    for column, event in enumerate(events):
        key = (event.object_kind, str(event.object))
        lanes.setdefault(key, Lane("")).kinds[column] = event.kind
        if event.subject or key not in names:
            names[key] = lane_name(event)
    common = Counter(names.values())
    numbers: Counter[str] = Counter()
    for key, lane in lanes.items():
        name = names[key]
        numbers[name] += 1
        lane.label = f"{name} {numbers[name]}" if common[name] > 1 else name
    return list(lanes.values())


def lane_name(event: Event) -> str:
    """Return the name of an object: the one under which the story watches it."""
    what = event.name or event.object_kind
    return f"{event.subject} ({what})" if event.subject else what


def stage_ends(events: Sequence[Event]) -> list[tuple[int, str]]:
    """Return the column after the last event of each stage, when its readings were taken."""
    ends: list[tuple[int, str]] = []
    for column, event in enumerate(events, 1):
        if ends and ends[-1][1] == event.stage:
            ends.pop()
        ends.append((column, event.stage))
    return ends


@dataclass
class Timeline:
    """The lanes of one story on one system, as many columns at a time as fit into the terminal."""

    title: str
    events: Sequence[Event]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.title, TITLE)
        if not self.events:
            yield Text("  no events were recorded: only the mini engine records any", QUIET)
            return
        lanes = make_lanes(self.events)
        label_width = min(WIDEST_LABEL, max(len(lane.label) for lane in lanes))
        room = max(TICK, options.max_width - label_width - 4)
        for start in range(0, len(self.events), room):
            columns = range(start, min(start + room, len(self.events)))
            yield Text("")
            yield from self.block(lanes, columns, label_width, int(options.ascii_only))
        yield Text("")
        yield self.legend()

    def block(self, lanes: list[Lane], columns: range, label_width: int, plain: int) -> Iterator[Text]:
        """Draw one range of columns: an axis, the lanes that live in it, the stages that end in it."""
        ends = stage_ends(self.events)
        yield Text((" " * (label_width + 2) + axis(columns)).rstrip(), QUIET, no_wrap=True)
        for lane in lanes:
            if lane.first < columns.stop and (lane.end is None or lane.end >= columns.start):
                yield draw_lane(lane, columns, {column for column, _ in ends}, label_width, plain)
        for column, stage in ends:
            if columns.start < column <= columns.stop:
                yield stage_line(stage, label_width + 2 + column - columns.start, plain)

    def legend(self) -> Hanging:
        """Return the letters that occur."""
        text = Text()
        occurring = {event.kind for event in self.events}
        for kind in [kind for kind in LETTERS if kind in occurring]:
            letter, style = LETTERS[kind]
            text.append(letter, style)
            text.append(f" {kind}  ", QUIET)
        text.append("> not destroyed", QUIET)
        return Hanging(Text("  "), text)


def axis(columns: range) -> str:
    """Return every tenth column's number, ending above its column."""
    text = [" "] * len(columns)
    for column in columns:
        number = str(column + 1)
        place = column - columns.start
        if (column + 1) % TICK == 0 and place + 1 >= len(number):
            text[place + 1 - len(number) : place + 1] = number
    return "".join(text).rstrip()


def draw_lane(lane: Lane, columns: range, borders: set[int], label_width: int, plain: int) -> Text:
    """Draw a lane within a range of columns."""
    line = Text(lane.label[:label_width].ljust(label_width + 2), no_wrap=True)
    for column in columns:
        if column in lane.kinds:
            line.append(*LETTERS.get(lane.kinds[column], OTHER))
        elif lane.lives_at(column):
            line.append(LIFE[plain], QUIET)
        else:
            line.append(BARRIER[plain] if column in borders else " ", QUIET)
    if lane.end is None:
        line.append(">", QUIET)
    line.rstrip()
    return line


def stage_line(stage: str, column: int, plain: int) -> Text:
    """Return the name of a stage at its end: to the left of it if there is room, else to the right."""
    bar = BARRIER[plain]
    if len(stage) <= column:
        return Text.assemble(stage.rjust(column), (bar, QUIET))
    return Text.assemble(" " * column, (bar, QUIET), stage)
