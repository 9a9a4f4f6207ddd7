"""Tables of a snapshot in the terminal: numbers on the left, names that may wrap on the right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.text import Text

from gradlife.model.heap import Cycle, HeapView, HeldVariable, HolderCount, LargeObject, LibraryShare, TypeCount
from gradlife.model.trace import Lifetime, PathStep
from gradlife.reports.devices.terminal import Line, device_lines
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import BAD, NOTE, QUIET, TITLE
from gradlife.reports.values import counted, size
from gradlife.reports.visible_report import shows_report

#: Most libraries with a line each.
LIBRARIES = 4

#: What is shown, and what to do, where no variable of the program was alive when the snapshot was taken.
NOTHING = (
    "nothing: none of its variables was alive then. Take the snapshot in the midst of the program: gradlife snapshot "
    "--at-step 10 -o FILE SCRIPT, with --step-on MODULE:FUNCTION where no optimizer steps"
)

FATES = {
    Lifetime.HELD: ("held", ""),
    Lifetime.GC: ("waits for the collector", NOTE),
    Lifetime.NEVER: ("never freed", BAD),
    Lifetime.UNKNOWN: ("not known", NOTE),
}


@shows_report
def print_heap(console: Console, view: HeapView) -> None:
    """Print the summary of a heap."""
    for part in parts(view):
        console.print(part, end="")


def parts(view: HeapView) -> Iterator[RenderableType]:
    """Yield the parts of the report that are not empty."""
    is_short = bool(view.libraries) and not view.types
    yield section(view.file, head_lines(view) if is_short else [*head_lines(view), *limit_lines(view)])
    tables: tuple[tuple[str, Iterable[RenderableType]], ...] = (
        ("Types that take most (objects, bytes)", map(type_line, view.types)),
        ("Objects that retain most (what would be freed with each)", map(object_line, view.largest)),
        ("Objects of this type, those that retain most first", map(object_line, view.instances)),
        ("Who holds them (references, holders)", map(holder_line, view.holders)),
        ("Cyclic parts, those through native objects first", map(cycle_line, view.cycles)),
    )
    if is_short and not view.program:
        yield section("Held by the program", [Hanging(Text("  "), Text(NOTHING))])
    yield from held_sections(view)
    yield from device_sections(view, is_short)
    yield from sections(tables)
    if is_short:
        yield Hanging(Text("Details: "), Text(f"gradlife open {view.file} --all, gradlife why {view.file} NAME"))


def held_sections(view: HeapView) -> Iterator[RenderableType]:
    """Yield what the variables of the program hold, and what those of libraries hold."""
    yield from sections(
        (
            ("Held by the program (what would be freed with each)", map(variable_line, view.program)),
            ("Held by libraries and Python", library_lines(view.libraries)),
        )
    )


def device_sections(view: HeapView, is_short: bool) -> Iterator[RenderableType]:
    """Yield who owns the memory of each device."""
    for memory in view.device_memory.devices if view.device_memory is not None else ():
        lines = [shifted(line) for line in device_lines(memory, "caching allocator", not is_short)]
        yield section(f"Memory of {memory.device}, by owner", lines)


def shifted(line: Line) -> Hanging:
    """A line further to the right."""
    indent = Text("  ")
    return line.after(indent) if isinstance(line, Hanging) else Hanging(indent, line)


def sections(tables: Iterable[tuple[str, Iterable[RenderableType]]]) -> Iterator[RenderableType]:
    """Yield the tables that have rows."""
    for title, lines in tables:
        shown = list(lines)
        if shown:
            yield section(title, shown)


def section(title: str, lines: Iterable[RenderableType]) -> Group:
    """Return a titled part with a blank line after it."""
    return Group(Text(title, TITLE), *lines, Text(""))


def head_lines(view: HeapView) -> Iterator[RenderableType]:
    """Describe the process and time of the snapshot."""
    objects, references = counted(view.objects, "object"), counted(view.references, "reference")
    yield Hanging(Text("  "), Text(f"{objects}, {references}, {size(view.bytes)}"))
    for device, nbytes in view.devices:
        yield Hanging(Text("  "), Text(f"storages on {device}: {size(nbytes)}"))
    notes = dict(view.notes)
    if "moment" in notes:
        yield Hanging(Text("  "), Text(f"taken when {notes['moment']}"))
    lead = {"taken": "on "} if "moment" in notes else {}
    origin = [
        f"{lead.get(key, f'{key} ')}{notes[key]}" for key in ("taken", "gradlife", "python", "torch") if key in notes
    ]
    yield Hanging(Text("  "), Text(", ".join(origin), QUIET))


def limit_lines(view: HeapView) -> Iterator[RenderableType]:
    """Yield what the snapshot could not see."""
    for key, value in view.notes:
        if key == "limit":
            yield Hanging(Text("  not seen: ", QUIET), Text(value, QUIET))


def numbers(*columns: str) -> Text:
    """Format the columns of numbers before a name."""
    return Text("  " + "".join(f"{column:>11}  " for column in columns))


def type_line(row: TypeCount) -> RenderableType:
    """Return a type with its count and bytes."""
    return Hanging(numbers(f"{row.count:,}", size(row.bytes)), named(row.type, row.kind))


def holder_line(row: HolderCount) -> RenderableType:
    """Return a type of holders."""
    return Hanging(numbers(f"{row.references:,}", f"{row.holders:,}"), named(row.type, row.kind))


def variable_line(row: HeldVariable) -> RenderableType:
    """Return a variable of the program with its contents and their size."""
    found = row.object
    title = Text.assemble((row.name, TITLE), f"  {found.type} {found.detail}".rstrip())
    content = ", ".join(content_words(row))
    return Hanging(numbers(size(found.retained)), Text.assemble(title, (f"\n{content}" if content else "", QUIET)))


def content_words(row: HeldVariable) -> Iterator[str]:
    """Yield the numbers of tensors, grad nodes and bytes of storages that a variable keeps."""
    if row.tensors:
        yield counted(row.tensors, "tensor")
    if row.grad_nodes:
        yield counted(row.grad_nodes, "grad node")
    if row.storages:
        yield f"{size(row.storage_bytes)} in storages"


def library_lines(rows: Sequence[LibraryShare]) -> Iterator[RenderableType]:
    """Yield the largest libraries with a line each, and one for the rest."""
    for row in rows[:LIBRARIES]:
        yield Hanging(numbers(size(row.bytes)), Text.assemble(row.name, (f"  {counted(row.objects, 'object')}", QUIET)))
    rest = rows[LIBRARIES:]
    if rest:
        yield Hanging(
            numbers(size(sum(row.bytes for row in rest))), Text(counted(len(rest), "more library", "more libraries"))
        )


def named(name: str, kind: str) -> Text:
    """Return a type's name, with its kind if it is not a Python type."""
    return Text.assemble(name, (f"  {kind}" if kind not in {"python", "root"} else "", QUIET))


def object_line(row: LargeObject) -> RenderableType:
    """Return an object with its retained size and the path to it."""
    title = Text.assemble((f"{row.type} {row.detail}".strip(), TITLE), (f"  {row.address:#x}", QUIET))
    return Hanging(numbers(size(row.retained)), Text.assemble(title, "\n", (path_text(row.steps), QUIET)))


def path_text(steps: tuple[PathStep, ...]) -> str:
    """Format a path on one line."""
    if not steps:
        return "no root reaches it"
    words = "".join(step.via if step.via[:1] in ".[" else f" → {step.via}" for step in steps[:-1])
    return f"{steps[0].object} {steps[0].detail}".strip() + words


def cycle_line(row: Cycle) -> RenderableType:
    """Return a cyclic part, and a short cycle in it."""
    word, style = FATES[row.lifetime]
    title = Text.assemble((word, style), f", {counted(row.objects, 'object')}, {size(row.bytes)}")
    if row.has_native:
        title.append(", native references")
    if row.alike > 1:
        title.append(f", {row.alike:,} alike")
    ring = "".join(f"{step.object} {step.via} → " for step in row.steps[:12])
    end = row.steps[0].object if 0 < len(row.steps) <= 12 else "..."
    return Hanging(Text("  "), Text.assemble(title, "\n", (ring + end if ring else "", QUIET)))
