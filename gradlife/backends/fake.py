"""A tiny framework, for tests of everything around frameworks.

This module is both the backend and the framework that its children import: tensors are plain Python objects with a
storage and no autograd. One lifetime story differs between its two profiles: in `fake-leaky` every tensor has a
reference that is never released.
"""

from __future__ import annotations

import ctypes
import platform

from gradlife.backends.base import WorkerSpec, this_platform
from gradlife.errors import UnknownNameError
from gradlife.model.system import SystemInfo

__version__ = "1.0"

PROFILES = ("fake-1.0", "fake-leaky")

_in_force = [PROFILES[0]]


class FakeBackend:
    """The fake framework: `fake`, or `fake:PROFILE`."""

    def __init__(self, profile: str = PROFILES[0]) -> None:
        if profile not in PROFILES:
            raise UnknownNameError("profile", profile, PROFILES)
        self.profile = profile
        self.name = "fake" if profile == PROFILES[0] else f"fake:{profile}"

    def describe(self) -> SystemInfo:
        """Return a framework of this name and version."""
        return SystemInfo(self.name, self.profile, "fake", __version__, platform.python_version(), this_platform())

    def worker_spec(self) -> WorkerSpec:
        """Name this module as the framework."""
        return WorkerSpec(__name__, self.profile)


class Storage:
    """The memory of a fake tensor's numbers."""

    def __init__(self, size: int) -> None:
        self.size = size

    def nbytes(self) -> int:
        """The size: four bytes per number."""
        return 4 * self.size


class Tensor:
    """A list of ones with a storage."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._storage = Storage(size)
        self.grad_fn = None

    def untyped_storage(self) -> Storage:
        """Return the same storage at each call."""
        return self._storage

    def requires_grad_(self) -> Tensor:
        """Do nothing: there is no autograd."""
        return self

    def tolist(self) -> list[float]:
        """Return the elements as a list."""
        return [1.0] * self.size


def ones(size: int) -> Tensor:
    """Make a new tensor, with one extra reference under the leaky profile."""
    tensor = Tensor(size)
    if _in_force[0] == "fake-leaky":
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tensor))
    return tensor


def set_default_profile(profile: str) -> None:
    """Set the profile of this process."""
    _in_force[0] = profile
