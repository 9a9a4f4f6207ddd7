"""`gradlife.watch()`: the report of a watched loop goes to standard error as soon as it is known."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable

from gradlife.hunting.run.watch import Watch
from gradlife.model.hunt import HuntReport

#: A loop writes `with gradlife.watch():` anew each time: the same place is the same watch.
_watches: dict[tuple[str, int], Watch] = {}


def watch(*, steps: int | None = None, on_report: Callable[[HuntReport], None] | None = None) -> Watch:
    """Hunts in a loop: ``with gradlife.watch():`` around its body. A step is one time through the block.

    The report is printed on standard error once enough steps were seen, and the loop goes on; ``on_report`` is called
    with it instead where it is given. ``steps`` is the number of steps to judge by.
    """
    caller = sys._getframe(1)
    place = (os.path.abspath(caller.f_code.co_filename), caller.f_lineno)
    if place not in _watches:
        _watches[place] = found = Watch(on_report or show, steps)
        atexit.register(found.finish)
    return _watches[place]


def show(report: HuntReport) -> None:
    """Print it on standard error."""
    from gradlife.reports.hunt.terminal import print_hunt
    from gradlife.reports.theme import make_console

    print_hunt(make_console(sys.stderr), report)
