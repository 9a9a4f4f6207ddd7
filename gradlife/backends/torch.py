"""The real PyTorch. Only a child imports it, by the module name that `worker_spec` gives."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform

from gradlife.backends.base import WorkerSpec, this_platform
from gradlife.errors import MissingDependencyError
from gradlife.model.system import SystemInfo
from gradlife.scenario import profile_name

MODULE = "torch"


def is_installed() -> bool:
    """Whether PyTorch is installed next to gradlife. Does not import it."""
    return importlib.util.find_spec(MODULE) is not None


class TorchBackend:
    """The PyTorch installed in this interpreter."""

    name = "torch"

    def __init__(self) -> None:
        if not is_installed():
            raise MissingDependencyError("PyTorch", "torch")
        try:
            self.version = importlib.metadata.version(MODULE)
        except importlib.metadata.PackageNotFoundError:
            self.version = ""

    @property
    def profile(self) -> str:
        """The release as a profile name: `torch-2.13`."""
        return profile_name(MODULE, self.version)

    def describe(self) -> SystemInfo:
        """Return the installed release, from its metadata."""
        return SystemInfo(self.name, self.profile, MODULE, self.version, platform.python_version(), this_platform())

    def worker_spec(self) -> WorkerSpec:
        """Return how to import torch."""
        return WorkerSpec(MODULE)
