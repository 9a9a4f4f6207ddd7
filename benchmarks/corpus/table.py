"""The judgements as a table, with totals."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.corpus.judge import Judgement, total

Pair = tuple[Judgement, Judgement | None]


def print_corpus(pairs: Sequence[Pair]) -> None:
    """Print a row per case, with its fixed variant beside it; then the totals."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 150)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("case", "expected", "verdict", "", "codes", "path lacks", "fixed", "s", "CPU s"):
        table.add_column(head, overflow="fold", justify="right" if head.endswith("s") and len(head) < 6 else "left")
    fixed = {one.slug: one for one, _ in pairs if one.variant == "fixed_step"}
    for one, other in pairs:
        if one.variant == "step":
            table.add_row(*row(one, other, fixed.get(one.slug)))
    console.print(table)
    for one, other in pairs:
        for judgement in (one, other):
            if judgement is not None and judgement.said and not judgement.is_right:
                console.print(f"{judgement.slug}::{judgement.variant}: {judgement.said}")
    for line in sums(pairs):
        console.print(line)


def row(one: Judgement, other: Judgement | None, fixed: Judgement | None) -> list[str]:
    """Return the cells of one case."""
    codes = " ".join(one.codes)
    if other is not None and other.codes != one.codes:
        codes += f" (renamed: {' '.join(other.codes) or 'none'})"
    mark = "ok" if one.is_right else one.outcome.upper()
    lacking = ", ".join(one.lacking) if one.expected != "clean" else ""
    twin = "" if fixed is None else "ok" if fixed.is_right else f"{fixed.outcome.upper()} {' '.join(fixed.codes)}"
    verdict = one.kinds[0] if one.kinds else one.verdict
    return [one.slug, one.expected, verdict, mark, codes, lacking, twin, f"{one.seconds:.1f}", f"{one.cpu_seconds:.1f}"]


def sums(pairs: Sequence[Pair]) -> list[str]:
    """Return the totals, each with its target."""
    all_of = total([one for one, _ in pairs])
    others = [(one, other) for one, other in pairs if other is not None]
    lines = [
        f"leaking cases found, with the right kind: {all_of.found} of {all_of.leaking}",
        f"clean cases clean: {all_of.clean_right} of {all_of.clean}",
        f"fixed variants clean: {all_of.fixed_right} of {all_of.fixed}",
        f"expected names in order in the first finding's trace: {all_of.paths_right} of {all_of.paths}",
        f"controls right: {all_of.controls_right} of {all_of.runs} runs",
        f"seconds a run: median {all_of.median_seconds:.1f}, longest {all_of.longest_seconds:.1f}",
    ]
    if others:
        same = sum((one.codes, one.verdict) == (other.codes, other.verdict) for one, other in others)
        lines.append(f"codes and verdicts the same under other names: {same} of {len(others)}")
    return lines
