"""Run stories in one system: in children of a fork server, or in this process."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from gradlife.backends.base import Backend
from gradlife.model.run import RunUnavailable, ScenarioRun
from gradlife.model.story import ScenarioInfo
from gradlife.runner.discover import Story
from gradlife.runner.outcome import run_of
from gradlife.runner.server import Ended, ForkServer
from gradlife.runner.worker.story_run import run_file


def job_for(story: Story, backend: Backend, also: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a worker needs to run a story."""
    spec = backend.worker_spec()
    return {
        "do": "run",
        "module": spec.module,
        "engine_profile": spec.profile,
        "system": backend.name,
        "profile": backend.profile,
        "file": str(story.path),
        "scenario": story.info.name,
        "isolation": "fresh" if spec.is_threaded else story.info.isolation,
        "needs": story.info.needs,
        "also": list(also),
    }


def run_in_worker(server: ForkServer, story: Story, backend: Backend, limit: float, also: Sequence[str]) -> ScenarioRun:
    """Run a story in a child of a server that has imported the backend's framework."""
    return run_of(story.info, backend.name, server.do(job_for(story, backend, also), limit), limit)


def run_story_here(story: Story, backend: Backend, also: Sequence[str] = ()) -> ScenarioRun:
    """Run a story in this process, for debugging: only exceptions are caught, and there is no time limit."""
    info: ScenarioInfo = story.info
    if info.isolation == "fresh":
        return RunUnavailable(info.id, backend.name, why="needs an interpreter of its own")
    records: list[dict[str, Any]] = []
    with default_profile_restored(backend.worker_spec().module):
        run_file(job_for(story, backend, also), records.append)
    return run_of(info, backend.name, Ended(0, False, False, "", tuple(records), False), 0.0)


@contextlib.contextmanager
def default_profile_restored(module: str) -> Iterator[None]:
    """Restore this process's engine profile at the end."""
    fw = importlib.import_module(module)
    current = getattr(fw, "current_profile", None)
    before = current() if current is not None else None
    try:
        yield
    finally:
        if before is not None:
            fw.set_default_profile(before)
