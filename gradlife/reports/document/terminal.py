"""A document in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from gradlife.model.source_text import plain_rows
from gradlife.model.trace import PathStep, Trace
from gradlife.reports.coloured_code import coloured
from gradlife.reports.document.blocks import (
    Block,
    Card,
    Code,
    Commands,
    Diff,
    Document,
    Facts,
    Item,
    List,
    Paragraph,
    Section,
    TraceBlock,
    Words,
    spans,
)
from gradlife.reports.document.tables import Table
from gradlife.reports.document.trace import LEAK, gathered, named, tensor_words, unseen_holders
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE, ReportConsole
from gradlife.reports.visible_report import shows_report

STYLES = {"": "", "good": GOOD, "bad": BAD, "note": NOTE, "held": "cyan", "quiet": QUIET, "title": TITLE}
#: Styles of the lines of a diff, by their signs.
CHANGES = {"-": BAD, "+": GOOD}
MARGIN = "  "
#: Blocks with an empty line before and after them in a card.
APART = (Facts, TraceBlock, Code)
#: Columns between those of a table.
GAP = 2
#: Least columns of a terminal, and the columns of a trace in plain text.
MIN_WIDTH, PLAIN_WIDTH = 80, 100


def print_document(console: Console, document: Document) -> None:
    """Print a document."""
    console.print(Group(*document_lines(document)), end="")


def document_lines(document: Document) -> Iterator[RenderableType]:
    """Yield the verdict, the sections, and the verdict again, because readers see the last line first."""
    word = Text(document.verdict, STYLES[document.tone])
    target = Text.assemble((document.target, TITLE), f"  {document.headline}")
    if document.verdict:
        yield Hanging(Text.assemble(word, MARGIN), target)
    yield from lines_of(document.head)
    for section in document.sections:
        lines = [*section_lines(section)]
        yield from [Text(""), *lines] if lines else []
    if document.verdict and document.sections:
        yield Text("")
        yield Hanging(Text.assemble(word, ": "), Text(document.headline))


def lines_of(blocks: Iterable[Block]) -> Iterator[RenderableType]:
    """Yield the lines of blocks, one after the other."""
    for block in blocks:
        match block:
            case Paragraph():
                style = STYLES[block.tone]
                lead = Text(f"{MARGIN}{block.lead}: " if block.lead else MARGIN, style or TITLE)
                yield Hanging(lead, text_of(block.words, style))
            case Facts():
                yield from fact_lines(block.rows)
            case List():
                yield from (line for item in block.items for line in item_lines(item))
            case Table():
                yield Grid(block)
            case TraceBlock():
                yield from trace_lines(block.trace)
            case Code():
                yield from (Hanging(Text(MARGIN * 2), line) if line else Text("") for line in coloured(block.text))
            case Diff():
                yield from diff_lines(block.text)
            case Commands():
                yield from command_lines(block.rows)
            case Card():
                yield from card_lines(block)
            case Section():
                yield from section_lines(block)


def text_of(words: Words, style: str = "") -> Text:
    """Return a sentence in colours."""
    return Text.assemble(*((span.text, STYLES[span.tone] or style) for span in spans(words)))


def fact_lines(rows: Sequence[tuple[str, Words]]) -> Iterator[RenderableType]:
    """Yield a line per fact, the values in one column."""
    width = max((len(name) for name, _ in rows), default=0)
    yield from (Hanging(Text(f"{MARGIN}{name.ljust(width)}  ", QUIET), text_of(words)) for name, words in rows)


def item_lines(item: Item) -> Iterator[RenderableType]:
    """Yield an item of a list, and its details."""
    mark = f"{item.mark} " if item.mark else ""
    lead = f"{item.lead}: " if item.lead else ""
    style = STYLES[item.tone]
    yield Hanging(Text.assemble(MARGIN, (mark, style or QUIET), (lead, QUIET)), text_of(item.words, style))
    yield from (Hanging(Text(MARGIN * 2), Text(sentence)) for sentence in item.below)


@dataclass(frozen=True)
class Grid:
    """A table with all its rows, laid out for the width of the console. No line ends with blanks."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heads = [Text(column.name, QUIET) for column in self.table.columns]
        rows = [[Text(str(cell.text), STYLES.get(cell.style, "")) for cell in cells] for _, cells in self.table.lines]
        widths = [max(text.cell_len for text in column) for column in zip(heads, *rows, strict=True)]
        if sum(widths) + GAP * (len(widths) - 1) <= options.max_width - len(MARGIN):
            yield from (self._line(row, widths) for row in (heads, *rows))
        else:
            yield from self._folded(rows, console, options)

    def _line(self, row: Sequence[Text], widths: Sequence[int]) -> Text:
        """Return a row that needs one line."""
        line = Text(MARGIN, no_wrap=True)
        for column, text, width in zip(self.table.columns, row, widths, strict=True):
            blanks = " " * (width - text.cell_len)
            line = Text.assemble(
                line, *((blanks, text) if column.is_number else (text, blanks)), " " * GAP, no_wrap=True
            )
        line.rstrip()
        return line

    def _folded(self, rows: Sequence[Sequence[Text]], console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines of a table that has to be folded."""
        from rich.table import Table as RichTable  # loaded where it is needed

        grid = RichTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style=QUIET)
        for column in self.table.columns:
            grid.add_column(column.name, justify="right" if column.is_number else "left", overflow="fold")
        for row in rows:
            grid.add_row(*row)
        for parts in console.render_lines(grid, options.update(width=options.max_width - len(MARGIN))):
            line = Text.assemble(MARGIN, *((part.text, part.style or "") for part in parts), no_wrap=True)
            line.rstrip()
            yield line


def diff_lines(diff: str) -> Iterator[RenderableType]:
    """Yield the rows of a change."""
    for row in plain_rows(diff):
        yield Hanging(Text(MARGIN * 2), Text(row, CHANGES.get(row[:1], QUIET)))


def command_lines(rows: Sequence[tuple[str, str]]) -> Iterator[RenderableType]:
    """Yield the commands, each below its purpose if one is too long to stand before it."""
    is_long = any(len(command) + len(purpose) > MIN_WIDTH - 8 for command, purpose in rows)
    for command, purpose in rows:
        if is_long:
            yield Hanging(Text(f"{MARGIN}# ", QUIET), Text(purpose, QUIET))
            yield Hanging(Text(MARGIN), Text(command, TITLE))
        else:
            yield Hanging(Text(MARGIN), Text.assemble((command, TITLE), (f"   # {purpose}", QUIET)))


def card_lines(card: Card) -> Iterator[RenderableType]:
    """Yield a card: its title, its figures, and its blocks."""
    style = STYLES[card.tone]
    code = Text(f"{card.code}  " if card.code else "", style)
    yield Hanging(Text(f"{card.kind or card.number}  ", style), code.append_text(text_of(card.title, TITLE)))
    if card.facts:
        yield Hanging(Text(MARGIN), Text(card.facts, QUIET))
        yield Text("")
    for number, block in enumerate(card.blocks):
        if number and (isinstance(block, APART) or isinstance(card.blocks[number - 1], APART)):
            yield Text("")
        yield from lines_of([block])


def section_lines(section: Section) -> Iterator[RenderableType]:
    """Yield a section that has lines; an empty line stands between cards."""
    parts = [lines for block in section.blocks if (lines := [*lines_of([block])])]
    if parts:
        yield Hanging(Text(""), Text(section.title, TITLE))
    for number, lines in enumerate(parts):
        if number and isinstance(section.blocks[0], Card):
            yield Text("")
        yield from lines


def trace_lines(trace: Trace) -> Iterator[RenderableType]:
    """Yield the path from the root, or the cycle if there is no root, and references that no object explains."""
    yield from path_down(trace.steps)
    yield from ring(trace.cycle)
    yield from path_down(trace.tail)
    if tensor := tensor_words(trace.tensor):
        yield Hanging(Text(MARGIN + " "), Text(tensor, QUIET))
    if trace.lead:
        yield Hanging(Text(MARGIN), Text("native code holds the first of these:", NOTE))
        yield from path_down(trace.lead)
    yield from lines_of([List(tuple(unseen_holders(trace)))])


def path_down(steps: Sequence[PathStep]) -> Iterator[RenderableType]:
    """Yield each object, and below it its reference to the next."""
    for number, (step, more) in enumerate(gathered(steps)):
        is_last = step is steps[-1]
        yield object_line("┬ " if number == 0 else "╰→ " if is_last else "├─ ", step, "   " if is_last else "│    ")
        if not is_last:
            yield from reference_lines(step, more)


def ring(cycle: Sequence[PathStep]) -> Iterator[RenderableType]:
    """Yield the objects of a cycle: the last refers to the first."""
    rows = gathered(cycle)
    for number, (step, more) in enumerate(rows):
        yield object_line("╭→ " if number == 0 else "├─ ", step, "│    ")
        yield from reference_lines(step, more)
    if rows:
        yield Hanging(Text("╰─ ", QUIET), Text(f"back to {named(rows[0][0])}", QUIET))


def object_line(lead: str, step: PathStep, below: str) -> RenderableType:
    """Return an object and the verdict on it."""
    word, tone = LEAK[step.status]
    text = Text.assemble((step.object, TITLE), f" {step.detail}".rstrip())
    if word:
        text.append("   ")
        text.append(word, STYLES[tone])
    if step.reason:
        text.append(f"{':' if word else '  '} {step.reason}", QUIET)
    width = max(len(lead), len(below))
    return Hanging(Text(lead.ljust(min(width, 3)), QUIET), text, Text(below[:3], QUIET))


def reference_lines(step: PathStep, more: int) -> Iterator[RenderableType]:
    """Yield a reference, underlined if it is suspect."""
    lead = Text("│    ", QUIET)
    yield Hanging(lead, Text(step.via, NOTE if step.is_suspect else ""), lead)
    if step.is_suspect:
        yield Hanging(lead, Text("~" * min(cell_len(step.via), PLAIN_WIDTH // 2), BAD), lead)
    if more:
        yield Hanging(lead, Text(f"... and {more:,} more like it", QUIET), lead)


@shows_report
def trace_drawing(trace: Trace) -> str:
    """Return a trace as plain text."""
    console = ReportConsole(
        width=PLAIN_WIDTH, no_color=True, markup=False, emoji=False, highlight=False, force_terminal=False
    )
    with console.capture() as captured:
        console.print(Group(*trace_lines(trace)), end="")
    return captured.get()
