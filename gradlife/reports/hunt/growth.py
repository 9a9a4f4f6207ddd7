"""How fast the program grows, or what it keeps, and when its memory runs out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gradlife.model.hunt import Finding, FindingKind, HuntReport, Severity
from gradlife.model.ranks import SHARED_MEMORY, Spread
from gradlife.reports.hunt.held_memory import ran_out_of_memory
from gradlife.reports.hunt.sentences import amounts
from gradlife.reports.values import counted, size


def growth(report: HuntReport) -> str:
    """Return the growth of the program, and the time until its memory runs out."""
    leaks = [one for one in report.findings if one.severity is not Severity.NOTE] or report.findings
    growing = [one for one in leaks if one.kind not in (FindingKind.RETAINED, FindingKind.NEEDS_GC)]
    if not growing:
        return kept_bytes(leaks)
    after = [one for one in growing if one.is_after_steps]
    if after == growing:
        return kept_after_steps(after, report.step)
    growing = [one for one in growing if one not in after]
    own = [one for one in growing if one.in_workers is None]
    others = [one for one in growing if own and one.in_workers is not None]
    return f"{growth_of(own or growing, report)}{growth_of_workers(others)}"


def kept_bytes(leaks: Sequence[Finding]) -> str:
    """Say what is kept though nothing grows."""
    kept = size(sum(one.retained_bytes for one in leaks))
    if all(one.trace.object == SHARED_MEMORY for one in leaks):
        return f"leaves {kept} of shared memory; nothing grows"
    if any(one.kind is FindingKind.NEEDS_GC for one in leaks):
        waiting = sum(one.waits.bytes for one in leaks if one.waits is not None)
        return f"keeps {f'about {size(waiting)} of ' if waiting else ''}memory that only the collector frees; nothing grows"
    return f"keeps {f'{kept} of ' if any(one.retained_bytes for one in leaks) else ''}memory of a finished step; nothing grows"


def growth_of_workers(findings: Sequence[Finding]) -> str:
    """Say how fast workers grow beside the program: their rate has another unit. Empty without findings."""
    if not findings:
        return ""
    found = [one.in_workers for one in findings if one.in_workers is not None]
    return f"; its workers by {size(round(rate_of(findings)))} per {found[0].step}"


def rate_of(findings: Sequence[Finding]) -> float:
    """Return the bytes per step of several findings."""
    return sum(max(one.per_step.retained_bytes, one.per_step.bytes) for one in findings)


def growth_of(growing: Sequence[Finding], report: HuntReport) -> str:
    """Return the rate of findings with the same unit, and the time until memory runs out."""
    nbytes = max((row.growth.most for row in report.ranks), default=rate_of(growing))
    up_to = "up to " if len({rate for one in report.ranks for rate in spread_of(one.growth)}) > 1 else ""
    seconds = float(report.settings.get("step_seconds", 0))  # 0: steps are not intervals of time
    nbytes /= seconds or 1
    rate = up_to + size(round(nbytes)) if nbytes >= 1 else amounts(growing[0].per_step)
    rate += " per second" if seconds and nbytes >= 1 else f" per {report.step}"
    end = out_of_memory(growing, seconds, report)
    return f"grows by {rate}{judged_over(report, seconds)}{end or on_device(growing)}"


def judged_over(report: HuntReport, seconds: float) -> str:
    """Say over how many steps the growth was measured; empty without rounds. ``seconds``: of a step that is a time."""
    steps = sum(one.steps for one in report.rounds)
    if not steps:
        return ""
    return f" over {counted(round(steps * seconds), 'second') if seconds else counted(steps, report.step)}"


def kept_after_steps(findings: Sequence[Finding], step: str) -> str:
    """Say what was kept after the last step: it has no rate."""
    kept = [one.arrivals for one in findings if one.arrivals is not None]
    nbytes = sum(one.times * one.bytes_each for one in kept)
    return f"keeps {size(nbytes)} of {sum(one.times for one in kept):,} results after the last {step}"


def out_of_memory(growing: Sequence[Finding], seconds: float, report: HuntReport) -> str:
    """Say that memory ran out, or when and where it will; empty if a usual job would end first."""
    if ran_out_of_memory(report):
        return " and ran out of memory"
    near = [one for one in growing if one.steps_to_limit is not None]
    if not near:
        return ""
    left, device = min((steps_together(near, growing, one.fills, report), one.fills) for one in near)
    limit = report.settings.get("memory_limit", "") if not device else ""
    where = f" on {device}" if device else ""
    room = f" ({size(int(limit))})" if limit else ""
    return f": out of memory{where} after about {time_left(left, seconds, report.step)}{room}"


def steps_together(near: Sequence[Finding], growing: Sequence[Finding], device: str, report: HuntReport) -> int:
    """Return the steps until all that grows on a device has filled it. Of ranks, the worst is shown, and its findings are
    not known one by one.
    """
    here = [one for one in near if one.fills == device]
    rate = sum(one.rates.get(device, 0.0) for one in growing)
    alone = min(one.steps_to_limit or 0 for one in here)
    if report.ranks or not rate:
        return alone
    free = max((one.steps_to_limit or 0) * one.rates.get(device, 0.0) for one in here)
    return min(alone, round(free / rate))


def on_device(growing: Sequence[Finding]) -> str:
    """Name the device that most of the growth is on; empty for the CPU."""
    found = Counter[str]()
    for one in growing:
        found.update(one.device_bytes)
    device, nbytes = found.most_common(1)[0] if found else ("", 0)
    return f", most of it on {device}" if 2 * nbytes > sum(one.retained_bytes for one in growing) else ""


def time_left(steps: int, seconds: float, step: str) -> str:
    """Format ``1,200 more steps``, or ``120 seconds`` if a step is a time, rounded down to two figures."""
    return f"{rounded(round(steps * seconds)):,} seconds" if seconds else f"{rounded(steps):,} more {step}s"


def spread_of(growth: Spread) -> Iterator[float]:
    """Yield the least and the greatest rate of the ranks, if one grows."""
    yield from (rate for rate in (growth.least, growth.most) if growth.most)


def rounded(steps: int) -> int:
    """Round down to two figures: more are not known."""
    unit = int("1".ljust(len(str(steps)) - 1, "0"))
    return steps // unit * unit
