"""The report of a hunt, from what is known by now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gradlife.hunting.aside import aside
from gradlife.hunting.looks import Look, look
from gradlife.hunting.method import Hunt
from gradlife.hunting.suspects import Clear
from gradlife.model.hunt import HuntReport


@dataclass(frozen=True)
class About:
    """What a report says of its target."""

    target: str
    stepped_by: str
    script_status: int | None = None
    trouble: str = ""
    is_script: bool = False
    has_failed: bool = False  # what the failed step holds is told apart
    is_test: bool = False  # what was there before its first step belongs to fixtures
    rounds: int = 0  # in all of which there must be growth; 0: as many as usual


def report_of(hunt: Hunt, about: About) -> HuntReport:
    """What is known by now. The graphs, and all that tells of leaks, are gone with the copy of the process that has them."""
    about = replace(about, trouble=about.trouble or hunt.shortage)
    clear = None if about.has_failed or has_another_round(hunt) else hunt.clear
    if clear is None:
        return in_doubt(judged_aside(hunt, about))
    if hunt.waiting is None and hunt.left_behind is None and not hunt.natives:
        return in_doubt(cleared(hunt, clear, about))
    return in_doubt(judged_later_aside(hunt, clear, about))


def in_doubt(report: HuntReport) -> HuntReport:
    """The report, with why it can't call a program clean that adds as much each step and shows nothing that grows.

    Memory that nothing at all has is a leak of native code.
    """
    if report.unheld_rate:
        return with_unheld_memory(report)
    if not report.unexplained or report.trouble:
        return report
    names = " and ".join(name.replace("_", " ") for name in report.unexplained)
    return replace(report, trouble=f"each step adds as many {names} as any other, and nothing was found to hold them")


def with_unheld_memory(report: HuntReport) -> HuntReport:
    """The report with the memory that native code takes and keeps. What names it is loaded in a copy of the process."""

    def work() -> HuntReport:
        from gradlife.hunting.findings import unheld_memory

        return replace(report, findings=(unheld_memory(report),))

    return aside(work)


def judged_aside(hunt: Hunt, about: About) -> HuntReport:
    """What the looks tell, and all else."""
    looks = parting_looks(hunt) or labelled(hunt)

    def work() -> HuntReport:
        from gradlife.hunting.judging import judged

        return judged(hunt, looks, about)

    return aside(work)


def judged_later_aside(hunt: Hunt, clear: Clear, about: About) -> HuntReport:
    """What other rounds tell than those with a look after them."""

    def work() -> HuntReport:
        from gradlife.hunting.judging import judged_later

        return judged_later(hunt, clear, about)

    return aside(work)


def cleared(hunt: Hunt, clear: Clear, about: About) -> HuntReport:
    """What is to be told where nothing shows a leak."""
    return HuntReport(
        target=about.target,
        stepped_by=about.stepped_by,
        warmup_steps=hunt.warmup_steps,
        rounds=clear.rounds,
        findings=(),
        controls=clear.controls,
        limits=(*clear.limits, *limits_of_waiting(hunt)),
        script_status=about.script_status,
        trouble=about.trouble,
    )


def limits_of_waiting(hunt: Hunt) -> Iterator[str]:
    """Where the program ended before the collector rested for some steps."""
    if not hunt.has_rested:
        yield "cycles that wait for the collector: the program ended before they were looked for; a longer run shows them"


def has_another_round(hunt: Hunt) -> bool:
    """Were there enough steps since the last look to be one more round?"""
    looks = hunt.looks
    return len(looks) > 1 and hunt.steps_now - looks[-1].steps >= (looks[-1].steps - looks[-2].steps) / 2


def parting_looks(hunt: Hunt) -> Sequence[Look]:
    """Those of when the function returned that took the steps, if none was taken since."""
    steps, looks = hunt.parting or (-1, ())
    return looks if steps == hunt.steps_now else ()


def labelled(hunt: Hunt) -> Sequence[Look]:
    """The looks, the last of them with labels, which it lacks where the hunt was cut short."""
    looks = hunt.looks
    if len(looks) < 2 or looks[-1].has_labels:
        return looks
    is_another = has_another_round(hunt)
    if is_another:
        hunt.controls.plant(hunt.steps_now - looks[-1].steps, is_early=True)
    now = look(hunt.steps_now, with_labels=True)
    hunt.note(now)
    return [*looks, now] if is_another else [*looks[:-1], now]
