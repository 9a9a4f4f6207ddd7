"""The registered environments with their sizes."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gradlife.environments.records import Environment, environments
from gradlife.model.system import EnvironmentInfo


def listed() -> tuple[EnvironmentInfo, ...]:
    """Return all environments, sorted by name. Reads every file of each of them."""
    return tuple(info_of(environment) for environment in environments())


def info_of(environment: Environment) -> EnvironmentInfo:
    """Describe one environment."""
    return EnvironmentInfo(
        name=environment.name,
        is_ready=environment.is_ready,
        python=environment.python,
        framework=environment.framework,
        version=environment.version,
        packages=environment.packages,
        path=str(environment.folder),
        bytes=bytes_in(str(environment.folder)),
    )


def bytes_in(folder: str) -> int:
    """Return the disk space of a folder's files."""
    return sum(status.st_blocks * 512 for status in _files(folder))


def _files(folder: str) -> Iterator[os.stat_result]:
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(os.path.join(place, name))
            except OSError:
                continue  # removed meanwhile
