"""Installs hunts in the workers that this program starts from now on."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from types import ModuleType

from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.workers.entries import LEAVE_HUNT, PLACES, PLAIN, Place
from gradlife.hunting.workers.worker import VARIABLE


def hunt_in_workers(folder: str, leave_hunt: Callable[[], object]) -> None:
    """Make workers leave reports in ``folder``. ``leave_hunt`` ends the program's own hunt in a forked worker."""
    os.environ[VARIABLE] = folder
    LEAVE_HUNT[:] = [leave_hunt]
    for place in PLACES:
        when_imported(place.module, partial(replace_function, place))


def replace_function(place: Place, module: ModuleType) -> None:
    """Replace a worker function by the one with a hunt. Releases without it have no hunts in workers."""
    plain = getattr(module, place.name, None)
    if callable(plain) and plain is not place.entry:
        PLAIN[place.module] = plain
        setattr(module, place.name, place.entry)
