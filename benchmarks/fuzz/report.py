"""Prints what a campaign came to."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.fuzz.campaign import Found, Slice
from benchmarks.fuzz.grammar import RULES

SHOWN = 300  # characters of each side of a difference


def distinct(found: Iterable[Found]) -> list[list[Found]]:
    """Differences of one shrunk program together, the most frequent first."""
    groups: dict[object, list[Found]] = {}
    for item in found:
        groups.setdefault(item.program, []).append(item)
    return sorted(groups.values(), key=len, reverse=True)


def print_report(result: Slice, seed: int, seconds: float) -> None:
    coverage = result.coverage
    groups = distinct(result.found)
    open_groups = [group for group in groups if not group[0].reason]
    for group in groups:
        print_difference(group)
    print(
        f"programs     {coverage.programs} (seed {seed}), {coverage.steps} steps, {coverage.failed_steps} of them refused"
    )
    print(f"rate         {coverage.programs / seconds:.0f} programs/s over {seconds:.0f} s")
    print(f"differences  {result.differing} programs, {len(groups)} distinct, {len(open_groups)} of them unexplained")
    print(f"crashes      {len(result.peer_crashes)} programs end the second system's process, and not the first's")
    print(
        f"rules        {len(RULES)}; rarest {told(coverage.rarest_rule())}; rarest pair {told(coverage.rarest_pair())}"
    )
    print("verdicts     " + ", ".join(f"{name} {share:.1%}" for name, share in coverage.shares().items()))


def told(rarest: tuple[object, int]) -> str:
    name, count = rarest
    return f"{name if isinstance(name, str) else ' + '.join(map(str, name))} in {count}"  # type: ignore[call-overload]


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
