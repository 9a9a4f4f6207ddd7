"""Signs of the data: built-in stories and recordings, and registered environments."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gradlife.backends.recorded import RecordedBackend, missing_recordings, recording_names
from gradlife.environments.records import Environment, environments as registered
from gradlife.errors import GradlifeError
from gradlife.model.checkup import Health, Sign
from gradlife.runner.api import select

SUPPLIES = "Supplies"
REINSTALL = "pip install --force-reinstall gradlife; in a checkout, git status gradlife/recordings scenarios"


def recordings() -> Iterator[Sign]:
    """Check the built-in stories, and every shipped recording with its seal."""
    try:
        yield Sign(SUPPLIES, "stories", f"{len(select())} built in")
    except GradlifeError as error:
        yield Sign(SUPPLIES, "stories", str(error), Health.BROKEN, REINSTALL)
    for name in recording_names():
        yield recording_sign(name)
    for name in missing_recordings():
        yield Sign(SUPPLIES, f"recorded:{name}", "is missing", Health.LESS, REINSTALL)


def recording_sign(name: str) -> Sign:
    """Check that a recording can be read."""
    try:
        backend = RecordedBackend(name)
    except GradlifeError as error:
        return Sign(SUPPLIES, f"recorded:{name}", str(error), Health.LESS, REINSTALL)
    system = backend.recording.system
    text = f"{len(backend.recording.stories)} stories, Python {system.python}, {system.platform}, {backend.recording.recorded}"
    return Sign(SUPPLIES, f"recorded:{name}", text)


def environments() -> Iterator[Sign]:
    """Check the registered environments."""
    found = registered()
    yield from map(environment_sign, found)
    if not found:
        yield Sign(SUPPLIES, "environments", "none registered (gradlife env add makes one)", Health.ABSENT)


def environment_sign(environment: Environment) -> Sign:
    """Check that the interpreter of an environment still exists."""
    name = f"environment {environment.name}"
    result = f"{environment.framework or 'nothing'} {environment.version} on Python {environment.python}".replace(
        "  ", " "
    )
    anew = f"gradlife env remove {environment.name}, then gradlife env add {environment.name} ..."
    if not os.access(environment.interpreter, os.X_OK):
        return Sign(SUPPLIES, name, f"{result}: its interpreter is missing", Health.LESS, anew)
    if not environment.is_ready:
        return Sign(SUPPLIES, name, "its installation was interrupted", Health.LESS, "repeat its gradlife env add")
    return Sign(SUPPLIES, name, result)
