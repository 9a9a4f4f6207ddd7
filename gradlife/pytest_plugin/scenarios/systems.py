"""The systems that lifetime stories run on: those of `gradlife run`, or those named on the command line."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gradlife.backends.base import Backend
from gradlife.backends.registry import DEFAULT_BACKENDS, get_backend
from gradlife.errors import GradlifeError, MissingDependencyError

#: The test argument that receives each system's name.
ARGUMENT = "gradlife_backend"


@dataclass(frozen=True, slots=True)
class System:
    """A system, or the reason why it is not available."""

    name: str
    backend: Backend | None = None
    trouble: str = ""

    @property
    def param(self) -> object:
        """Return the system as a parameter of a test."""
        marks = pytest.mark.skip(reason=self.trouble) if self.trouble else ()
        return pytest.param(self.name, marks=marks, id=self.name)


def systems_of(config: pytest.Config) -> tuple[System, ...]:
    """Return all systems. Raises a usage error if one named on the command line is not available."""
    named = config.getoption("gradlife_backend")
    return tuple(system(name, is_named=bool(named)) for name in dict.fromkeys(named or DEFAULT_BACKENDS))


def system(name: str, is_named: bool) -> System:
    """Return the system of this name."""
    try:
        return System(name, get_backend(name))
    except MissingDependencyError as error:
        if is_named:
            raise pytest.UsageError(f"gradlife: {error}") from None
        return System(name, trouble=str(error))
    except GradlifeError as error:
        raise pytest.UsageError(f"gradlife: {error}") from None


def parametrise(metafunc: pytest.Metafunc) -> None:
    """Run a user's own test once for each system."""
    metafunc.parametrize(ARGUMENT, [one.param for one in systems_of(metafunc.config)])
