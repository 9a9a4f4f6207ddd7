"""Record one system after the other: make its environment, record, remove it. Finished systems are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.atlas.pythons import find_python
from benchmarks.atlas.systems import System

#: Downloads are stored beside the environment while it is made.
ROOM = 1.5

Run = Callable[[Sequence[str], Mapping[str, str]], int]


class Unbuildable(Exception):
    """A system that is not available here; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of the campaign: its work, and its recordings."""

    folder: Path
    recordings: Path

    @property
    def cache(self) -> Path:
        """The folder for pip's downloads into the current environment."""
        return self.folder / "downloads"

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables of commands: the campaign has its own environments and downloads."""
        return {**os.environ, "GRADLIFE_HOME": str(self.folder / "home"), "PIP_CACHE_DIR": str(self.cache)}

    def mark(self, system: System) -> Path:
        """Return the file that marks a system as done."""
        return self.folder / "done" / system.name


def run_command(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command of gradlife with the campaign's output."""
    return subprocess.run([sys.executable, "-m", "gradlife", *command], env=dict(environment)).returncode


@dataclass(frozen=True, slots=True)
class Campaign:
    """The releases to record, and the interpreters for them."""

    place: Place
    pythons: Mapping[str, str]
    run: Run = run_command
    options: tuple[str, ...] = ()  # of `gradlife record`

    def work(self, systems: Sequence[System]) -> dict[str, str]:
        """Record the unfinished systems. Return the reasons of those that failed, by name."""
        failed = {}
        for number, system in enumerate(systems, 1):
            if self.place.mark(system).exists():
                say(f"[{number}/{len(systems)}] {system.name}: done before")
                continue
            say(f"[{number}/{len(systems)}] {system.name}")
            try:
                self.record(system)
            except Unbuildable as reason:
                failed[system.name] = str(reason)
                say(f"{system.name}: {reason}")
        return failed

    def record(self, system: System) -> None:
        """Make a system's environment, record it, remove it, and mark it as done."""
        if system.packages:
            self.build(system)
        target = self.place.recordings / system.recording
        command = ["record", "--backend", system.backend, "-o", str(target), *self.options]
        code = self.run(command, self.place.environment)
        if code != 0:
            raise Unbuildable(f"gradlife record ended with {code}; its environment is kept")
        if system.packages:
            self.run(["env", "remove", system.name], self.place.environment)
        mark = self.place.mark(system)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()

    def build(self, system: System) -> None:
        """Make a system's environment, or continue with it."""
        python = find_python(system.python, self.pythons)
        if python is None:
            raise Unbuildable(f"there is no Python {system.python} here; --python {system.python}=PATH names one")
        self.place.folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self.place.folder).free // 2**20
        if free < system.megabytes * ROOM:
            raise Unbuildable(f"it takes {system.megabytes * ROOM:.0f} MB while it is made, and {free} MB are free")
        code = self.run(["env", "add", system.name, "--python", python, *system.packages], self.place.environment)
        if code != 0:
            raise Unbuildable(f"its environment can't be made (gradlife env add ended with {code})")
        shutil.rmtree(self.place.cache, ignore_errors=True)

    def forget(self) -> None:
        """Start from the beginning next time."""
        shutil.rmtree(self.place.folder / "done", ignore_errors=True)


def say(text: str) -> None:
    """Print a line of the campaign."""
    print(text, flush=True)
