"""Run one scenario in this process: send its readings, then a record of how it ended."""

from __future__ import annotations

import contextlib
import gc
import os
import time
import traceback
from typing import Any

from gradlife.runner.worker.features import missing_feature
from gradlife.runner.worker.framework import load_compiler, load_framework
from gradlife.runner.worker.lab import Emit, StoryError, WorkerLab, forget_frames
from gradlife.runner.worker.plain_values import exception_text
from gradlife.runner.worker.story_file import load_as_main, load_file
from gradlife.scenario import Scenario

#: Seed of every story's random numbers.
SEED = 0


def run_file(job: dict[str, Any], emit: Emit) -> None:
    """Run the scenario that a job names.

    A job has: module, engine_profile, system, profile, file, scenario, isolation, also.
    """
    try:
        fw = load_framework(job["module"], job["engine_profile"])
        load = load_as_main if job["isolation"] == "fresh" else load_file
        story = find(load(job["file"]), job["scenario"])
    except BaseException as error:
        emit(failure(error, job["file"]))
        return
    run_story(story, fw, job, emit)


def find(stories: list[Scenario], name: str) -> Scenario:
    """Return the scenario of this name."""
    for story in stories:
        if story.name == name:
            return story
    raise LookupError(f"no scenario is named {name}")


def run_story(story: Scenario, fw: Any, job: dict[str, Any], emit: Emit) -> None:
    """Run one scenario: send readings, then `done`, `failed` or `unavailable`."""
    started = time.perf_counter()
    was_enabled = gc.isenabled()
    gc.disable()
    lab = None
    try:
        reason = missing_feature(fw, story.needs) or other_profile(story.profile, job["profile"])
        if reason is not None:
            emit({"kind": "unavailable", "reason": reason})
            return
        if hasattr(fw, "manual_seed"):
            fw.manual_seed(SEED)
        load_compiler(fw, story.needs)
        gc.collect()
        lab = WorkerLab(fw, job["system"], job["profile"], emit, job.get("also", ()))
        lab.context = story.context
        with own_profile(fw, story.profile):
            story(lab)
            lab.finish()
        emit({"kind": "done", "seconds": time.perf_counter() - started})
    except BaseException as error:
        if lab is not None:
            with contextlib.suppress(StoryError):
                lab.flush()
        emit(failure(error, story.file))
        forget_frames(error)
    finally:
        if was_enabled:
            gc.enable()


def other_profile(wanted: str, profile: str) -> str | None:
    """Return why a story about a profile of its own is not available on a system with another profile, or None."""
    if not wanted or wanted.partition("+")[0] == profile:
        return None
    return f"it is about the engine's profile {wanted}"


def own_profile(fw: Any, wanted: str) -> Any:
    """Return a context manager that sets the engine's profile for a story that names one."""
    return fw.profile(wanted) if wanted else contextlib.nullcontext()


def failure(error: BaseException, file: str) -> dict[str, Any]:
    """Return the record of a story that raised: the exception, its line, and the traceback's last lines."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if os.path.basename(frame.filename) == os.path.basename(file)]
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {
        "kind": "failed",
        "error": exception_text(error),
        "line": lines[-1] if lines else 0,
        "traceback": text[-4000:],
    }
