"""Run stories on systems and build the report: the entry point for the command line and the pytest plugin.

A story is written as a `Scenario`. A system is the engine with a profile, or a real framework; its `Backend` runs stories.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gradlife.backends.base import Backend
from gradlife.backends.recorded import RecordedBackend
from gradlife.backends.registry import DEFAULT_AGAINST, STAND_IN, default_backends, get_backends
from gradlife.errors import UsageError
from gradlife.model.report import RunReport
from gradlife.model.run import ScenarioRun
from gradlife.model.story import ScenarioInfo
from gradlife.runner.compare import compare
from gradlife.runner.discover import Story, discover
from gradlife.runner.expectations import check_expectations, check_graph
from gradlife.runner.jobs import run_in_worker, run_story_here
from gradlife.runner.recordings import check_fit, recorded_run
from gradlife.runner.selection import selector
from gradlife.runner.server import ForkServer
from gradlife.runner.totals import sum_up

#: Time limit of one story in seconds. Some import PyTorch anew, which takes long on a busy machine.
TIME_LIMIT = 300.0


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run, and the scenario run that just ended; None at the start."""

    done: int
    total: int
    run: ScenarioRun | None = None


OnProgress = Callable[[Progress], None]


def select(paths: Sequence[str] = (), keyword: str = "") -> tuple[ScenarioInfo, ...]:
    """Return the scenarios that paths and keyword select, as data; without paths the built-in ones."""
    return tuple(story.info for story in select_stories(paths, keyword))


def run(
    paths: Sequence[str] = (),
    backends: Iterable[str] | None = None,
    against: str | None = None,
    keyword: str = "",
    on_progress: OnProgress | None = None,
    in_process: bool = False,
    time_limit: float = TIME_LIMIT,
    with_events: bool = False,
    with_owners: bool = False,
    with_graphs: bool = False,
) -> RunReport:
    """Run scenarios in systems, compare every system with `against`, and check what the scenarios declare.

    backends defaults to `default_backends`. against defaults to `torch` if that is a backend, else to its stand-in
    among the default backends, else to the first backend. with_events and with_owners keep the mini engine's event log
    and ownership trees of every run; with_graphs keeps ownership graphs, PyTorch's too. Raises `GradlifeError`, before
    anything runs if possible.
    """
    started = time.monotonic()
    if backends is None:
        backends = default_backends(with_recording=not paths)  # a user's stories are not recorded
        against = against or (STAND_IN if STAND_IN in backends else None)
    chosen, compared_with = choose_systems(backends, against)
    if in_process:
        refuse_other_interpreters(chosen)
    stories = select_stories(paths, keyword)
    report_progress = on_progress or (lambda progress: None)
    wanted = {"events": with_events, "owners": with_owners, "graph": with_graphs}
    also = tuple(word for word, is_wanted in wanted.items() if is_wanted)
    plan = Plan(stories, chosen, time_limit, also)
    runs = run_plan(plan, report_progress, in_process)
    return conclude(runs, plan, compared_with, time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run: stories, systems, options."""

    stories: tuple[Story, ...]
    backends: tuple[Backend, ...]
    time_limit: float
    also: tuple[str, ...]  # what to report besides readings: events, owners, graph

    @property
    def size(self) -> int:
        """The number of scenario runs."""
        return len(self.stories) * len(self.backends)

    @property
    def running(self) -> Plan:
        """The plan without recordings, which run nothing."""
        return replace(self, backends=tuple(one for one in self.backends if not isinstance(one, RecordedBackend)))

    @property
    def recordings(self) -> tuple[RecordedBackend, ...]:
        """The backends that are recordings."""
        return tuple(one for one in self.backends if isinstance(one, RecordedBackend))

    def in_order(self, runs: Iterable[ScenarioRun]) -> tuple[ScenarioRun, ...]:
        """Sort runs by scenario, then by system."""
        scenarios = {story.info.id: number for number, story in enumerate(self.stories)}
        systems = {backend.name: number for number, backend in enumerate(self.backends)}
        return tuple(sorted(runs, key=lambda run: (scenarios[run.scenario], systems[run.system])))


def choose_systems(names: Iterable[str], against: str | None) -> tuple[tuple[Backend, ...], str]:
    """Return the backends by name, and the name of the one that the others are compared with."""
    names = list(names)
    if against is not None and against not in names:
        names.append(against)
    chosen = get_backends(names)
    if not chosen:
        raise UsageError("no backend was given")
    default = DEFAULT_AGAINST if DEFAULT_AGAINST in names else chosen[0].name
    return chosen, against or default


def refuse_other_interpreters(backends: Iterable[Backend]) -> None:
    """Raise if a backend needs another interpreter than this one."""
    for backend in backends:
        if not isinstance(backend, RecordedBackend) and backend.worker_spec().interpreter:
            raise UsageError(
                f"{backend.name} is another interpreter, which cannot run in this process", "without --in-process"
            )


def select_stories(paths: Sequence[str], keyword: str) -> tuple[Story, ...]:
    """Return the stories that paths and keyword select."""
    is_chosen = selector(keyword)
    stories = tuple(story for story in discover(paths) if is_chosen(story.info))
    if not stories:
        raise UsageError(f"no scenario matches {keyword!r}", "gradlife list")
    return stories


def run_plan(plan: Plan, report: OnProgress, in_process: bool = False) -> tuple[ScenarioRun, ...]:
    """Run every story in every system. Recordings are read from files, which are checked before anything runs."""
    for backend in plan.recordings:
        check_fit(plan.stories, backend)
    recorded = [recorded_run(story, backend) for backend in plan.recordings for story in plan.stories]
    running = plan.running
    report(Progress(0, running.size))
    return plan.in_order([*recorded, *(run_here(running, report) if in_process else run_in_children(running, report))])


def run_here(plan: Plan, report: OnProgress) -> list[ScenarioRun]:
    """Run everything in this process, one after the other."""
    runs: list[ScenarioRun] = []
    for backend in plan.backends:
        for story in plan.stories:
            runs.append(run_story_here(story, backend, plan.also))
            report(Progress(len(runs), plan.size, runs[-1]))
    return runs


def run_in_children(plan: Plan, report: OnProgress) -> list[ScenarioRun]:
    """Run everything in fork servers, one per system, several at a time."""
    crew = Crew(plan)
    runs: list[ScenarioRun] = []
    with crew:
        for finished in crew.finished():
            runs.append(finished)
            report(Progress(len(runs), plan.size, finished))
    return runs


@dataclass(frozen=True, slots=True)
class Shift:
    """Stories that one fork server runs in one system, one after the other."""

    backend: Backend
    stories: tuple[Story, ...]
    module: str  # imported ahead by the server; empty if each story has its own interpreter

    def server(self) -> ForkServer:
        """Create the server that runs them."""
        spec = self.backend.worker_spec()
        return ForkServer(self.module, spec.interpreter, spec.abi)


def shifts_of(plan: Plan) -> tuple[Shift, ...]:
    """Distribute the stories over servers. Real frameworks come first: they take longest, and the rest runs beside
    them.

    A real framework has no profile. Its stories that need a new interpreter run in a shift of their own, because each
    imports the framework anew. If the framework has threads, every story needs a new interpreter, and the stories are
    split into several shifts.
    """
    shifts: list[Shift] = []
    for backend in sorted(plan.backends, key=lambda backend: backend.worker_spec().profile is not None):
        spec = backend.worker_spec()
        fresh = tuple(story for story in plan.stories if story.info.isolation == "fresh")
        warm = tuple(story for story in plan.stories if story.info.isolation != "fresh")
        if spec.is_threaded:
            parts = [plan.stories[start :: crew_size()] for start in range(crew_size())]
            shifts += [Shift(backend, part, "") for part in parts if part]
        elif spec.profile is None and fresh and warm:
            shifts += [Shift(backend, warm, spec.module), Shift(backend, fresh, "")]
        else:
            shifts.append(Shift(backend, plan.stories, spec.module))
    return tuple(shifts)


def crew_size() -> int:
    """Return how many servers run at a time."""
    return max(2, min(4, os.cpu_count() or 1))


class Crew:
    """Threads that take shifts one after the other and run their stories."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._shifts: queue.SimpleQueue[Shift] = queue.SimpleQueue()
        shifts = shifts_of(plan)
        for shift in shifts:
            self._shifts.put(shift)
        self._results: queue.SimpleQueue[ScenarioRun | BaseException] = queue.SimpleQueue()
        self._servers: set[ForkServer] = set()
        self._is_stopped = threading.Event()
        count = min(len(shifts), crew_size())
        self._threads = [threading.Thread(target=self._work, name=f"gradlife-crew-{n}") for n in range(count)]

    def __enter__(self) -> Crew:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._is_stopped.set()
        for server in list(self._servers):
            server.kill()
        for thread in self._threads:
            thread.join()

    def finished(self) -> Iterator[ScenarioRun]:
        """Yield the runs as they end."""
        for _ in range(self._plan.size):
            result = self._results.get()
            if isinstance(result, BaseException):
                raise result
            yield result

    def _work(self) -> None:
        try:
            while not self._is_stopped.is_set():
                self._run_all(self._shifts.get_nowait())
        except queue.Empty:
            pass
        except BaseException as error:
            self._results.put(error)

    def _run_all(self, shift: Shift) -> None:
        plan = self._plan
        with shift.server() as server:
            self._servers.add(server)
            try:
                for story in shift.stories:
                    if self._is_stopped.is_set():
                        return
                    self._results.put(run_in_worker(server, story, shift.backend, plan.time_limit, plan.also))
            finally:
                self._servers.discard(server)


def conclude(runs: tuple[ScenarioRun, ...], plan: Plan, against: str, seconds: float) -> RunReport:
    """Build the report of finished runs."""
    systems = tuple(backend.describe() for backend in plan.backends)
    scenarios = tuple(story.info for story in plan.stories)
    runs = compare(runs, systems, scenarios, against)
    judged = check_graph(runs)
    disagreements = tuple(result for result in judged if result.is_contradiction)
    expectations = check_expectations(runs, systems, scenarios) + disagreements
    report = RunReport(systems, scenarios, runs, against, expectations)
    return replace(report, totals=sum_up(report, seconds, judged))
