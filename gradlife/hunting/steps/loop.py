"""The loop that calls a step function. Its frame is the program's, not gradlife's: what it holds shows in traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradlife.hunting.steps.targets import Stepper

#: One loop for each number of arguments. `state` is the name under which traces begin.
SOURCE = """\
def loop(state, step, numbers, done):
    for number in numbers:
        step({arguments})
        if done():
            break
"""

Loop = Callable[[Any, Callable[..., object], Any, Callable[[], bool]], None]


def make_loop(arguments: str) -> Loop:
    """A loop that calls the step so; compiled under a name that is no file of gradlife's."""
    names: dict[str, Any] = {"__name__": "hunt"}
    exec(compile(SOURCE.format(arguments=arguments), "<hunt>", "exec"), names)
    loop: Loop = names["loop"]
    return loop


def loop_for(stepper: Stepper) -> Loop:
    """State and number where the step takes them."""
    count = stepper.arguments()
    if stepper.setup is None:
        return make_loop("number" if count else "")
    return make_loop(("", "state", "state, number")[count])
