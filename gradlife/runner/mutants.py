"""Test the scenarios: replace each ownership policy in turn; some scenario must fail.

    python -m gradlife.runner.mutants [PATH ...] [-k EXPR] [--profile NAME ...] [--all]

A mutant is a profile of the mini engine with one policy replaced by another value of its axis. It is killed when a
reading contradicts its scenario's declaration for the profile, or when a scenario raises, crashes or hangs that did not
before. A mutant that only changes undeclared readings, or none, survives: a scenario is missing. Policies that no
program can observe in a release (`UNSEEN`) are not mutated there.
"""

from __future__ import annotations

import argparse
import queue
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gradlife.backends.mini import MODULE, MiniBackend, axes, policies_of
from gradlife.errors import GradlifeError
from gradlife.model.comparison import ExpectationResult
from gradlife.model.reading import Reading
from gradlife.model.run import ScenarioRun
from gradlife.probes import is_comparable
from gradlife.runner.api import select_stories
from gradlife.runner.compare import same_value
from gradlife.runner.discover import Story
from gradlife.runner.expectations import check_run
from gradlife.runner.jobs import run_in_worker
from gradlife.runner.server import ForkServer

#: The profiles that are mutated by default.
PROFILES = ("torch-2.13", "torch-1.2")

#: Policies that no program can observe in that release; they are mutated on the other profile.
UNSEEN = {
    "torch-1.2": {
        "storage_identity": "a storage is a new object at each call",
        "hook_references": "there are no saved-tensor hooks",
        "unpack_schedule": "there are no saved-tensor hooks",
    }
}

#: Time limit of a scenario under a mutant, in seconds.
TIME_LIMIT = 20.0

#: Mutants that run at the same time.
WORKERS = 2


@dataclass(frozen=True, slots=True)
class Mutant:
    """A profile with one policy replaced."""

    profile: str
    axis: str
    old: str
    new: str

    @property
    def spec(self) -> str:
        """The name that the engine and `mini:` accept."""
        return f"{self.profile}+{self.axis}={self.new}"


@dataclass(frozen=True, slots=True)
class Trial:
    """The results of the scenarios on one mutant."""

    mutant: Mutant
    red: tuple[str, ...]  # why scenarios fail
    differing: tuple[str, ...]  # scenarios with a reading that differs from the unmutated profile's
    scenarios: int  # number of scenarios run

    @property
    def is_killed(self) -> bool:
        """Whether a scenario failed."""
        return bool(self.red)

    @property
    def verdict(self) -> str:
        """The verdict in one or two words."""
        return "killed" if self.red else "only differs" if self.differing else "SURVIVED"


def mutants_of(profile: str, policies: Mapping[str, str], values: Mapping[str, Sequence[str]]) -> Iterator[Mutant]:
    """Yield every mutant of a profile: each axis with each of its other values."""
    for axis, old in policies.items():
        for new in values[axis]:
            if new != old:
                yield Mutant(profile, axis, old, new)


def seen_policies(profile: str) -> dict[str, str]:
    """Return the profile's policies that its release can show."""
    unseen = UNSEEN.get(profile, {})
    return {axis: value for axis, value in policies_of(profile).items() if axis not in unseen}


def try_mutants(stories: Sequence[Story], profiles: Sequence[str] = PROFILES, all_stories: bool = False) -> list[Trial]:
    """Try every mutant of the profiles, in order. Stop at a mutant's first failing scenario unless all stories are
    wanted.
    """
    mutants = [mutant for profile in profiles for mutant in mutants_of(profile, seen_policies(profile), axes())]
    bench = Bench(stories, profiles, all_stories)
    return bench.work(mutants)


class Bench:
    """Fork servers that try mutants in parallel, compared with readings of the unmutated profiles."""

    def __init__(self, stories: Sequence[Story], profiles: Sequence[str], all_stories: bool) -> None:
        self._stories = stories
        self._all_stories = all_stories
        self._recordings: dict[str, dict[str, ScenarioRun]] = {}
        self._profiles = profiles

    def work(self, mutants: Sequence[Mutant]) -> list[Trial]:
        """Record the profiles, then try the mutants. Return the trials in the mutants' order."""
        with ForkServer(MODULE) as server:
            for profile in self._profiles:
                self._recordings[profile] = self._record(server, profile)
        todo: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
        for mutant in mutants:
            todo.put(mutant)
        trials: dict[Mutant, Trial | BaseException] = {}
        threads = [threading.Thread(target=self._try_all, args=(todo, trials)) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [raised_or(trials[mutant]) for mutant in mutants]

    def _record(self, server: ForkServer, profile: str) -> dict[str, ScenarioRun]:
        backend = MiniBackend(profile)
        return {story.info.id: run_in_worker(server, story, backend, TIME_LIMIT, ()) for story in self._stories}

    def _try_all(self, todo: queue.SimpleQueue[Mutant], trials: dict[Mutant, Trial | BaseException]) -> None:
        with ForkServer(MODULE) as server:
            while not todo.empty():
                try:
                    mutant = todo.get_nowait()
                except queue.Empty:
                    return
                try:
                    trials[mutant] = self._try(server, mutant)
                except BaseException as error:
                    trials[mutant] = error

    def _try(self, server: ForkServer, mutant: Mutant) -> Trial:
        backend = MiniBackend(mutant.spec)
        recording = self._recordings[mutant.profile]
        red: list[str] = []
        differing: list[str] = []
        result = 0
        for story in self._stories:
            run = run_in_worker(server, story, backend, TIME_LIMIT, ())
            before = recording[story.info.id]
            result += 1
            red += reasons(story, backend, before, run)
            if first_difference(before.readings, run.readings) or before.outcome != run.outcome:
                differing.append(story.info.id)
            if red and not self._all_stories:
                break
        return Trial(mutant, tuple(red), tuple(differing), result)


def raised_or(result: Trial | BaseException) -> Trial:
    """Return the trial, or raise the error that prevented it."""
    if isinstance(result, BaseException):
        raise result
    return result


def reasons(story: Story, backend: MiniBackend, before: ScenarioRun, run: ScenarioRun) -> list[str]:
    """Return why a story fails under the mutant and did not before; at most one reason."""
    if run.is_failure:
        return [] if before.is_failure else [f"{story.info.name}: {run.reason}"]
    system = backend.describe()
    known = {(result.subject, result.probe, result.stage) for result in contradictions(before, story, backend)}
    for result in check_run(run, system, story.info):
        if result.is_contradiction and (result.subject, result.probe, result.stage) not in known:
            return [f"{story.info.name}: {result.subject} {result.probe} {result.declared!r} -> {result.got!r}"]
    return []


def contradictions(run: ScenarioRun, story: Story, backend: MiniBackend) -> list[ExpectationResult]:
    """Return the readings of a run that contradict their declarations."""
    return [result for result in check_run(run, backend.describe(), story.info) if result.is_contradiction]


def first_difference(before: Iterable[Reading], after: Iterable[Reading]) -> Reading | None:
    """Return the first reading that is new or has another value."""
    known = {reading.key: reading for reading in before}
    for reading in after:
        if not reading.status and is_comparable(reading.probe, reading.subject):
            old = known.get(reading.key)
            if old is None or not same_value(old.value, reading.value):
                return reading
    return None


def table(trials: Sequence[Trial]) -> str:
    """Format the trials, one per line."""
    width = max(len(trial.mutant.spec) for trial in trials)
    lines = []
    for trial in trials:
        said = trial.red[0] if trial.red else f"{len(trial.differing)} of {trial.scenarios} scenarios differ"
        lines.append(f"{trial.mutant.spec:{width}}  {trial.verdict:12}  {said}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: 0 if every mutant was killed, 1 with the survivors named, 2 on a usage error."""
    parser = argparse.ArgumentParser(
        prog="python -m gradlife.runner.mutants", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="scenario files or folders instead of the built-in ones"
    )
    parser.add_argument("-k", dest="keyword", default="", metavar="EXPR", help="only scenarios that match")
    parser.add_argument("--profile", nargs="+", default=PROFILES, metavar="NAME", help="profiles to mutate")
    parser.add_argument("--all", action="store_true", help="run every scenario against every mutant, killed or not")
    options = parser.parse_args(arguments)
    try:
        trials = try_mutants(select_stories(options.paths, options.keyword), options.profile, options.all)
    except GradlifeError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    print(table(trials))
    survivors = [trial.mutant.spec for trial in trials if not trial.is_killed]
    print(f"\n{len(trials) - len(survivors)} of {len(trials)} mutants killed")
    if survivors:
        print("missing a scenario that turns red:\n  " + "\n  ".join(survivors))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
