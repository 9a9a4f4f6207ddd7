"""The systems that lifetime stories run on: those of `gradlife run`, or those that the command line names."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gradlife.backends.base import Backend
from gradlife.backends.registry import DEFAULT_BACKENDS, get_backend
from gradlife.errors import GradlifeError, MissingDependencyError

#: The argument of tests that stands for the name of each of them.
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
    """The one of this name."""
    try:
        return System(name, get_backend(name))
    except MissingDependencyError as error:
        if is_named:
            raise pytest.UsageError(f"gradlife: {error}") from None
        return System(name, trouble=str(error))
    except GradlifeError as error:
        raise pytest.UsageError(f"gradlife: {error}") from None


def parametrise(metafunc: pytest.Metafunc) -> None:
    """Runs a test of one's own once for each."""
    metafunc.parametrize(ARGUMENT, [one.param for one in systems_of(metafunc.config)])
