"""Print the results of a campaign."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.fuzz.campaign import Found, Slice
from benchmarks.fuzz.grammar import RULES
from benchmarks.fuzz.profiles import BASE, RELEASES, VARIANTS, Violation

WHOLE = 100_000  # programs of a full campaign
SHOWN = 300  # characters of each side of a difference


def distinct(found: Iterable[Found]) -> list[list[Found]]:
    """Group differences with the same shrunk program, most frequent first."""
    groups: dict[object, list[Found]] = {}
    for item in found:
        groups.setdefault(item.program, []).append(item)
    return sorted(groups.values(), key=len, reverse=True)


@dataclass(frozen=True)
class Figure:
    """One line of the table: a count, and its target in a full campaign."""

    name: str
    measured: float
    wanted: float
    at_most: bool = False
    note: str = ""

    @property
    def is_met(self) -> bool:
        return self.measured <= self.wanted if self.at_most else self.measured >= self.wanted

    def line(self, is_judged: bool) -> str:
        """Format shares in per cent, and everything else as counts."""
        show = "{:,.0f}".format if self.measured > 1 or self.wanted > 1 or self.wanted == 0 else "{:.1%}".format
        judged = ("met" if self.is_met else "MISSED") if is_judged else "-"
        wanted = f"{'<=' if self.at_most else '>='} {show(self.wanted)}"
        return f"{self.name:<28} {show(self.measured):>10} {wanted:>12}  {judged:<6} {self.note}".rstrip()


def figures(result: Slice) -> list[Figure]:
    """Return the figures of a campaign with their targets."""
    coverage = result.coverage
    rule, rule_count = coverage.rarest_rule()
    pair, pair_count = coverage.rarest_pair()
    unexplained = [group for group in distinct(result.found) if not group[0].reason]
    return [
        Figure("programs", coverage.programs + len(result.peer_crashes), WHOLE),
        Figure("rarest rule, programs", rule_count, 1_000, note=rule),
        Figure("rarest pair, programs", pair_count, 50, note=" + ".join(pair)),
        *(Figure(f"subjects that end as {name}", share, 0.05) for name, share in coverage.shares().items()),
        Figure("differences not explained", len(unexplained), 0, at_most=True),
    ]


def print_report(result: Slice, seed: int, seconds: float) -> bool:
    """Print differences, figures and the table. Return whether all judged figures met their targets."""
    coverage = result.coverage
    groups = distinct(result.found)
    for group in groups:
        print_difference(group)
    print(
        f"programs     {coverage.programs:,} (seed {seed}), {coverage.steps:,} steps, {coverage.failed_steps:,} refused"
    )
    if coverage.other_texts:
        print(f"texts        {coverage.other_texts:,} steps are refused with errors of one type and two texts")
    print(f"rate         {coverage.programs / seconds:.0f} programs/s over {seconds:.0f} s")
    print(f"differences  {result.differing} programs, {len(groups)} distinct")
    print(f"crashes      {len(result.peer_crashes)} programs end the second system's process, and not the first's")
    print(f"rules        {len(RULES)}, each counted in programs where one of its steps was done, not refused\n")
    is_whole = coverage.programs + len(result.peer_crashes) >= WHOLE
    table = figures(result)
    for figure in table:
        print(figure.line(is_whole or figure.at_most))
    if not is_whole:
        print(f"- : judged from {WHOLE:,} programs on")
    return all(figure.is_met for figure in table if is_whole or figure.at_most)


def print_difference(group: list[Found]) -> None:
    first = group[0]
    modes = [word for word in ("looks", "storages") if getattr(first.program, word)]
    print(f"--- {len(group)} times, first in program {first.index}; {first.difference.kind}; {' '.join(modes)}")
    for number, step in enumerate(first.program.steps):
        print(f"{'>' if number == first.difference.step else ' '} {step.text}")
    print(f"  first:  {str(first.difference.one)[:SHOWN]}")
    print(f"  second: {str(first.difference.other)[:SHOWN]}")
    if first.reason:
        print(f"  let be: {first.reason}")


def print_violations(found: Sequence[Violation], programs: int, seed: int, seconds: float) -> None:
    """Print the violations of programs that ran without PyTorch, then the figures."""
    for item in found:
        print(f"--- program {item.index}, {item.profile}: {item.text[:SHOWN]}")
        print("\n".join(f"  {step.text}" for step in item.program.steps))
    profiles = f"{len(VARIANTS)} ownership variants of {BASE}, {len(RELEASES)} releases"
    print(f"programs     {programs:,} (seed {seed}), each under one of {profiles}")
    print(f"rate         {programs / seconds:.0f} programs/s over {seconds:.0f} s")
    print(
        f"violations   {len(found)} programs end the process, leave books that do not balance, or compute something else"
    )
