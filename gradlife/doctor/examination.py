"""Everything that `gradlife doctor` looks at, in the order in which it is shown."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

from gradlife.doctor import child, installation, stories_recordings
from gradlife.model import RunReport
from gradlife.model.checkup import Checkup, Health, Sign

SELF_CHECK = "Self check"

#: A leaking story and its repaired twin, on a profile of the engine on which the first is never freed.
STORY, TWIN, SYSTEM = "ctx_keeps_output", "ctx_keeps_detached_output", "mini:torch-1.1"


def examine() -> Checkup:
    """Look at everything. Takes some seconds: a process of its own imports torch and hunts for a planted leak."""
    return Checkup(tuple(signs()))


def signs() -> Iterator[Sign]:
    """Yield the signs of each part of the examination; a part that fails is a sign itself."""
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
    """The signs of one part; what it raises is shown as a sign, for a broken installation can break anything."""
    try:
        yield from look()
    except Exception as error:
        text = f"the examination failed: {type(error).__name__}: {error}"
        yield Sign(section, "the examination itself", text, Health.BROKEN, "report this, with all that stands here")


def lab() -> Iterator[Sign]:
    """The lab's self check: a story that leaks, and its twin that does not, in children, watched by the heap graph."""
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
    """Return the verdicts on a story's subjects, if they are known."""
    values = (
        one.value
        for one in report.readings
        if one.probe == "liveness" and one.is_conclusive and one.scenario.rpartition("/")[2] == name
    )
    return sorted(set(map(str, values))) or ["not given"]
