"""The hunts of this benchmark: every program, every number of steps, idle and beside busy loops."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus.cases import Case, bare, write_copy
from benchmarks.programs.planted import FOLDER, PLANTED

STEPS = (20, 25, 30, 40, 60, 100)

#: Busy loops beside a hunt.
LOADS = (0, 2)

#: The order of hunts is fixed and mixed, so that each part is a fair sample.
SEED = 20


@dataclass(frozen=True)
class Job:
    """One hunt."""

    program: str  # "corpus/loss_history_list::step", "programs/mlp --leak losses"
    steps: int
    load: int

    @property
    def key(self) -> str:
        """The key in the result file."""
        return f"{self.program} steps={self.steps} load={self.load}"


def all_jobs(cases: Iterable[Case], text: str) -> list[Job]:
    """Return every hunt of programs whose names contain a text, mixed."""
    programs = [f"corpus/{case.slug}::{variant}" for case in cases for variant in ("step", "fixed_step")]
    for name, leaks in PLANTED.items():
        programs += [f"programs/{name}", *(f"programs/{name} --leak {leak}" for leak in leaks)]
    jobs = [Job(name, steps, load) for name in programs for steps in STEPS for load in LOADS if text in name]
    random.Random(SEED).shuffle(jobs)
    return jobs


def part_of(jobs: Sequence[Job], part: int, parts: int) -> Sequence[Job]:
    """Return one of several equal parts, counted from 1."""
    return jobs[part - 1 :: parts]


class Targets:
    """The target and arguments of `gradlife hunt` for a job. Programs of the corpus are copied without their labels."""

    def __init__(self, cases: Iterable[Case], folder: Path) -> None:
        self._cases = {case.slug: case for case in cases}
        self._copies: dict[str, Path] = {}
        self._folder = folder

    def command(self, job: Job) -> tuple[str, tuple[str, ...]]:
        """Return the target and the program's own arguments."""
        kind, _, rest = job.program.partition("/")
        name, *arguments = rest.split()
        if kind == "programs":
            return str(FOLDER / f"{name}.py"), tuple(arguments)
        slug, _, variant = name.partition("::")
        if slug not in self._copies:
            self._copies[slug] = write_copy(bare(self._cases[slug].tree), self._folder, random.Random(slug))
        return f"{self._copies[slug]}::{variant}", ()
