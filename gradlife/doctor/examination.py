"""All checks of `gradlife doctor`, in report order."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

from gradlife.doctor import child, installation, stories_recordings
from gradlife.errors import UsageError
from gradlife.model import RunReport
from gradlife.model.checkup import Checkup, Health, Sign

SELF_CHECK = "Self check"

#: The name and the remedy of an examination that failed.
NAME, REMEDY = "the examination itself", "report this, with this whole output"

#: A leaking story and its fixed twin, on an engine profile in which the leak is never freed.
STORY, TWIN, SYSTEM = "ctx_keeps_output", "ctx_keeps_detached_output", "mini:torch-1.1"


def examine() -> Checkup:
    """Run all checks. Takes some seconds: a child process imports torch and hunts for a planted leak."""
    return Checkup(tuple(signs()))


def signs() -> Iterator[Sign]:
    """Yield the signs of each part; a part that fails becomes a sign itself."""
    yield from guarded("Versions", installation.versions)
    built = list(guarded("Installation", installation.extensions))
    yield from built
    is_built = all(sign.health is Health.WELL for sign in built)
    yield from guarded("Supplies", stories_recordings.recordings)
    yield from guarded("Supplies", stories_recordings.environments)
    yield from guarded("This machine", installation.system_files)
    if is_built:
        yield from guarded("PyTorch", child.ask_child)
        yield from guarded(SELF_CHECK, lab)


def guarded(section: str, look: Callable[[], Iterator[Sign]]) -> Iterator[Sign]:
    """Yield the signs of one part; an exception becomes a sign, since a broken installation can break anything."""
    try:
        yield from look()
    except UsageError as error:
        yield Sign(section, NAME, error.message, Health.BROKEN, error.hint or REMEDY)
    except Exception as error:
        text = f"the examination failed: {type(error).__name__}: {error}"
        yield Sign(section, NAME, text, Health.BROKEN, REMEDY)


def lab() -> Iterator[Sign]:
    """Yield the lab's self-check: a leaking story and its clean twin, run in children and judged by the heap graph."""
    run = importlib.import_module("gradlife.runner.api").run
    report = run([STORY, TWIN], backends=[SYSTEM], against=None)
    verdicts = {name: verdicts_of(report, name) for name in (STORY, TWIN)}
    text = f"{STORY} is {' and '.join(verdicts[STORY])}, {TWIN} is {' and '.join(verdicts[TWIN])} on {SYSTEM}"
    if report.exit_status == 0 and verdicts == {STORY: ["never"], TWIN: ["del"]}:
        yield Sign(SELF_CHECK, "lab", text)
        return
    failures = [run.reason for run in report.failures]
    remedy = f"gradlife run {STORY} {TWIN} --backend {SYSTEM} shows more"
    yield Sign(SELF_CHECK, "lab", "; ".join([text, *failures]), Health.BROKEN, remedy)


def verdicts_of(report: RunReport, name: str) -> list[str]:
    """Return the verdicts on a story's subjects, if known."""
    values = (
        one.value
        for one in report.readings
        if one.probe == "liveness" and one.is_conclusive and one.scenario.rpartition("/")[2] == name
    )
    return sorted(set(map(str, values))) or ["not given"]
