"""A tested fix: the change, growth before and after, and whether the losses are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from gradlife.model.hunt import Amounts, Finding
from gradlife.reports.document.terminal import STYLES
from gradlife.reports.hunt.changes import SIGNS, changed_rows
from gradlife.reports.hunt.sentences import amounts
from gradlife.reports.theme import BAD, GOOD, QUIET, TITLE
from gradlife.reports.visible_report import shows_report

INDENT = "   "


@shows_report
def print_fix(console: Console, proven: Sequence[Finding], written: str, command: str, is_whole: bool = True) -> None:
    """Print the findings that have a patch and its proof, and the changed files or the command that changes them."""
    for line in fix_lines(proven, written, command, is_whole):
        console.print(line, soft_wrap=True)


def fix_lines(proven: Sequence[Finding], written: str, command: str, is_whole: bool = True) -> Iterator[Text]:
    """Yield the lines of the report."""
    yield Text("")
    for finding in proven:
        yield from change_lines(finding)
    notes = dict.fromkeys(one.proof.note for one in proven if one.proof is not None and one.proof.note)
    yield from (Text.assemble((f"{INDENT}{'losses' if 'loss' in note else 'run   '}  ", QUIET), note) for note in notes)
    if not all(one.proof is not None and one.proof.is_sufficient for one in proven):
        yield Text.assemble(("not fixed: ", BAD), "no file was changed")
    elif written:
        yield Text.assemble(("fixed: ", GOOD) if is_whole else ("not fixed: ", BAD), written)
    else:
        yield Text.assemble(("fixed: ", GOOD), f"{command} changes the file")


def change_lines(finding: Finding) -> Iterator[Text]:
    """Yield what one patch changes, and the rates."""
    patch, proof = finding.patch, finding.proof
    stored = finding.stored_at
    yield Text(f"Fix  {stored.file}:{stored.line}" if stored is not None else "Fix", TITLE)
    if patch is not None:
        yield from (Text(f"{INDENT}{sign} {line}", STYLES[SIGNS[sign]]) for sign, line in changed_rows(finding))
        yield from [Text(f"{INDENT}({patch.remains})", QUIET)] if patch.remains else []
    if proof is not None:
        yield Text.assemble((f"{INDENT}before  ", QUIET), rate(proof.before))
        yield Text.assemble((f"{INDENT}after   ", QUIET), rate(proof.after) if proof.has_rate else "unknown")


def rate(per_step: Amounts) -> str:
    """Format a rate as on the first screen."""
    return f"{'0 B' if per_step == Amounts() else amounts(per_step)} per step"
