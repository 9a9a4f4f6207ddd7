"""Lifetime stories as tests: one for each story and each system, run in a child as `gradlife run` does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from gradlife.backends.base import Backend, WorkerSpec
from gradlife.backends.recorded import RecordedBackend
from gradlife.errors import GradlifeError
from gradlife.model.run import RunUnavailable, ScenarioRun
from gradlife.pytest_plugin.scenarios.systems import System, systems_of
from gradlife.reports.run import problems
from gradlife.runner.api import TIME_LIMIT
from gradlife.runner.discover import NoScenarioError, Story, load
from gradlife.runner.expectations import check_graph_of, check_run
from gradlife.runner.jobs import run_in_worker
from gradlife.runner.recordings import check_fit, recorded_run
from gradlife.runner.server import ForkServer

NAME = "gradlife-stories"


class StoryServers:
    """The fork servers of a session, each started on first use."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._servers: dict[WorkerSpec, ForkServer] = {}

    @cached_property
    def systems(self) -> tuple[System, ...]:
        """The systems that stories run on."""
        return systems_of(self._config)

    def stories_in(self, path: Path) -> list[Story]:
        """Yield the stories that a file declares. Its code runs in a child."""
        return load(self._server(WorkerSpec("")), path)

    def run(self, story: Story, backend: Backend) -> ScenarioRun:
        """Run a story in its own child, or read it from a recording."""
        if isinstance(backend, RecordedBackend):
            check_fit([story], backend)
            return recorded_run(story, backend)
        return run_in_worker(self._server(backend.worker_spec()), story, backend, TIME_LIMIT, ())

    def _server(self, spec: WorkerSpec) -> ForkServer:
        spec = replace(spec, profile=None)  # each job names its own
        found = self._servers.get(spec)
        if found is None:
            found = ForkServer(spec.module, spec.interpreter, spec.abi)
            found.start()
            self._servers[spec] = found
        return found

    def pytest_unconfigure(self) -> None:
        """Close the servers."""
        while self._servers:
            self._servers.popitem()[1].close()


def servers_of(config: pytest.Config) -> StoryServers:
    """Return the story servers of the session, made on first use."""
    found: StoryServers | None = config.pluginmanager.get_plugin(NAME)
    if found is None:
        found = StoryServers(config)
        config.pluginmanager.register(found, NAME)
    return found


class StoryFile(pytest.File):
    """A scenario file."""

    def collect(self) -> Iterator[StoryItem]:
        """Create a test for each story on each system."""
        servers = servers_of(self.config)
        try:
            stories = servers.stories_in(self.path)
        except NoScenarioError as error:
            if self.session.isinitpath(self.path):
                raise self.CollectError(str(error)) from None
            return
        except GradlifeError as error:
            raise self.CollectError(str(error)) from None
        for story in stories:
            for system in servers.systems:
                yield StoryItem.from_parent(self, name=f"{story.info.name}[{system.name}]", story=story, system=system)


class Contradicted(Exception):
    """A story contradicts its declarations; in words."""


class StoryItem(pytest.Item):
    """One story on one system."""

    #: A story's leaks are measured in its child process, so the sweep skips it here.
    measures_itself = True

    def __init__(self, *, story: Story, system: System, **others: Any) -> None:
        super().__init__(**others)
        self._story = story
        self._system = system
        info = story.info
        self.extra_keyword_matches.update(filter(None, (info.suite, info.pattern, *info.origin)))

    def runtest(self) -> None:
        """Run the story and compare its readings with its declarations."""
        backend = self._system.backend
        if backend is None:
            raise skipped(self._system.trouble)
        run = servers_of(self.config).run(self._story, backend)
        if isinstance(run, RunUnavailable):
            raise skipped(run.reason)
        lines = list(problem_lines(run, self._story, backend))
        if lines:
            raise Contradicted("\n".join([*lines, "", f"every reading: {self._again()}"]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the problems of the story as text, if the story failed."""
        if isinstance(excinfo.value, (Contradicted, GradlifeError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the file and line of the story."""
        return self.path, self._story.info.line - 1, self.name

    def _again(self) -> str:
        file = self.nodeid.partition("::")[0]
        return f"gradlife run {file}::{self._story.info.name} --backend {self._system.name} --stage-detail"


def skipped(why: str) -> BaseException:
    """Return the reason to skip a story."""
    return pytest.skip.Exception(why, _use_item_location=True)


def problem_lines(run: ScenarioRun, story: Story, backend: Backend) -> Iterator[str]:
    """Return the problems of a run: a crash, a contradicted declaration, a subject that the heap graph misjudged."""
    if run.is_failure:
        yield from sentences(problems.failure(run))
    for result in check_run(run, backend.describe(), story.info):
        if result.is_contradiction:
            yield from sentences(problems.contradiction(result))
    for result in check_graph_of(run):
        if result.is_contradiction:
            yield from sentences(problems.disagreement(result))


def sentences(problem: problems.Problem) -> Iterator[str]:
    """Format one problem of a story."""
    [system] = problem.systems
    yield f"{problem.word} {problem.headline} on {system}"
    yield from (f"  {line}" for line in problem.sentences)
