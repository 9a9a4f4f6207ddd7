"""A framework in another interpreter: `torch@PATH`, or `oneflow@NAME` for a registered environment."""

from __future__ import annotations

from gradlife.backends.base import WorkerSpec
from gradlife.environments.ask_interpreter import ask
from gradlife.environments.probe_script import FRAMEWORKS
from gradlife.environments.records import interpreter_of
from gradlife.errors import UnknownNameError, UsageError
from gradlife.model.system import SystemInfo
from gradlife.scenario import profile_name

#: Separates the framework from its interpreter.
MARK = "@"


class ChildBackend:
    """The framework of another interpreter. Creating a backend starts that interpreter once and imports the framework."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._framework, _, place = name.partition(MARK)
        if self._framework not in FRAMEWORKS:
            raise UnknownNameError("framework", self._framework, FRAMEWORKS, "torch@... or oneflow@...")
        if not place:
            raise UsageError(
                f"{name!r} names no interpreter", f"{name}PATH, or {name}NAME of an environment: gradlife env list"
            )
        self._interpreter = ask(interpreter_of(place), self._framework, place)

    @property
    def profile(self) -> str:
        """The release as a profile name: `torch-1.1`."""
        return profile_name(self._framework, self._interpreter.version)

    def describe(self) -> SystemInfo:
        """Return the interpreter's own description."""
        found = self._interpreter
        return SystemInfo(self.name, self.profile, self._framework, found.version, found.python, found.platform)

    def worker_spec(self) -> WorkerSpec:
        """Return how to import the framework there."""
        found = self._interpreter
        return WorkerSpec(self._framework, interpreter=found.path, abi=found.abi, is_threaded=found.is_threaded)
