"""The hunts to make: the leaking cases of a corpus, and the planted leaks of the programs, each in a folder of its own."""

from __future__ import annotations

import ast
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus.cases import bare, read_case, write_copy
from benchmarks.patches.labels import CORPUS, PROGRAMS
from benchmarks.programs.planted import FOLDER


@dataclass(frozen=True)
class Job:
    """A hunt to make."""

    name: str
    folder: Path
    target: str
    accepted: tuple[str, ...]
    arguments: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The file of the program."""
        return self.target.partition("::")[0]


def all_jobs(corpus: Path, folder: Path) -> Iterator[Job]:
    """Yield the corpus' cases, then the planted leaks. ``folder``: an empty one."""
    chance = random.Random(0)
    for name, accepted in CORPUS.items():
        path = corpus / f"{name}.py"
        if path.is_file():
            place = folder / name
            place.mkdir()
            copy = write_copy(unfixed(bare(read_case(path).tree)), place, chance)
            yield Job(name, place, f"{copy.name}::step", accepted)
    for name, accepted in PROGRAMS.items():
        program, _, leak = name.partition("-")
        place = folder / name
        place.mkdir()
        shutil.copy(FOLDER / f"{program}.py", place)
        yield Job(name, place, f"{program}.py", accepted, ("--leak", leak))


def unfixed(tree: ast.Module) -> ast.Module:
    """The program without the step that has the fix: its text would say what is to be found."""
    return ast.Module([node for node in tree.body if getattr(node, "name", "") != "fixed_step"], [])
