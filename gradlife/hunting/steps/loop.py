"""The loop that calls a step function. Its frame counts as the program's, so traces show what it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradlife.hunting.steps.targets import Stepper

#: The source of the loop, for each number of arguments. Traces begin at the name `state`.
SOURCE = """\
def loop(state, step, numbers, done):
    for number in numbers:
        step({arguments})
        if done():
            break
"""

Loop = Callable[[Any, Callable[..., object], Any, Callable[[], bool]], None]


def make_loop(arguments: str) -> Loop:
    """Compile a loop that calls the step with these arguments, under a file name that is not gradlife's."""
    names: dict[str, Any] = {"__name__": "hunt"}
    exec(compile(SOURCE.format(arguments=arguments), "<hunt>", "exec"), names)
    loop: Loop = names["loop"]
    return loop


def loop_for(stepper: Stepper) -> Loop:
    """Return a loop that passes the state and the number, if the step takes them."""
    count = stepper.count_arguments()
    if stepper.setup is None:
        return make_loop("number" if count else "")
    return make_loop(("", "state", "state, number")[count])
