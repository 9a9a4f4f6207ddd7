"""Recordings made up for tests of the analysis, and recordings of real steps."""

from __future__ import annotations

from collections.abc import Callable

from gradlife.peaks.recording.lifetimes import Operation, Recording, Storage, tick_before, tick_within
from gradlife.peaks.recording.torch import Contexts, Recorder


def storage(
    number: int,
    nbytes: int,
    birth: int | None,
    died: int | None,
    reads: tuple[int, ...] = (),
    overwrites: tuple[int, ...] = (),
) -> Storage:
    """A storage that an operation makes, or that was there before, and that is gone before another one."""
    born = tick_within(birth) if birth is not None else 0
    death = tick_before(died) if died is not None else None
    return Storage(number, 1000 + number, 0, 0, born, birth, death, [(born, nbytes)], list(reads), list(overwrites))


def recording(storages: list[Storage], steps: list[int]) -> Recording:
    """Operations with a line each, and these storages."""
    operations = [Operation(f"op{n}", [("train.py", n, "main")], "", False) for n in range(steps[-1])]
    return Recording(operations, storages, steps)


def recorded(
    step: Callable[[], object],
    steps: int = 2,
    on_alarm: Callable[[], object] = lambda: None,
    contexts: Contexts | None = None,
) -> Recording:
    """The recording of some calls of a function."""
    recorder = Recorder(contexts or Contexts(), on_alarm)
    recorder.start()
    try:
        for _ in range(steps):
            step()
            recorder.mark_step()
    except BaseException:
        recorder.stop()
        raise
    return recorder.stop()


def names(recording: Recording) -> list[str]:
    """The operations without torch's name for its own."""
    return [operation.function.removeprefix("aten.") for operation in recording.operations]
