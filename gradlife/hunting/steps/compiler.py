"""Keeps torch.compile out of gradlife's code: a step may be counted within a compiled function.

The compiler breaks its graph at the counter. Where it may not, as with `fullgraph=True`, the calls do not count.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from gradlife import _heap
from gradlife.heap.scan import OWN_FOLDER
from gradlife.hunting.process.import_watch import when_imported
from gradlife.safe_access import LibraryObject, member

P = ParamSpec("P")
T = TypeVar("T")

#: The modules of torch with the rules of what its compiler traces, and with the switch of the compiler.
RULES, SWITCH = "torch._dynamo.trace_rules", "torch._dynamo.eval_frame"

#: The module with the compiler's state while it traces.
TRACER = "torch._dynamo.symbolic_convert"

#: The package that it does not trace, and a file that is gradlife's as well, for its few functions that it may trace.
UNTRACED, TRACED = "gradlife.hunting", f"{OWN_FOLDER}traced"

#: Functions that the compiler may trace; the answer of `must_not_break` is a constant of the graph.
SOURCE = """\
def nothing(*args, **kwargs):
    pass

def make(is_whole, counted, uncounted):
    def must_not_break():
        return is_whole()
    must_not_break._dynamo_marked_constant = True

    def call(*args, **kwargs):
        return uncounted(*args, **kwargs) if must_not_break() else counted(*args, **kwargs)
    return call
"""


@functools.cache  # once
def keep_compiler_out() -> None:
    """Have torch.compile break its graphs at calls of gradlife's functions and run these as they are.

    It would trace the counter with tensors that have no memory, and look for a heap snapshot in its graph.
    """
    when_imported(RULES, skip_own_code)


def skip_own_code(rules: ModuleType) -> None:
    """Add gradlife's hunt to the packages that the compiler skips, if this torch has the function."""
    add = getattr(rules, "add", None)
    if add is not None:
        add(UNTRACED)


def uncompiled(function: Callable[P, T]) -> Callable[P, T]:
    """Switch the compiler off in this thread while a function of gradlife runs: it would compile all that this calls.

    Nothing of it is heard by a function of the program that traces or profiles.
    """
    run = Uncompiled(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        result: T = run(*args, **kwargs)
        return result

    return call


class Uncompiled(_heap.UnheardCall):
    """Runs a function without the compiler."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def called(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function."""
        switch = member(SWITCH, "set_eval_frame")
        if switch is None:
            return self._function(*args, **kwargs)
        before = switch(None)
        try:
            return self._function(*args, **kwargs)
        finally:
            switch(before)


def unless_whole(counted: Callable[P, T], uncounted: Callable[P, T] | None = None) -> Callable[P, T]:
    """Return a function that counts, but in a graph that may not break does what is ``uncounted``: nothing if None."""
    names: dict[str, LibraryObject] = {}
    exec(compile(SOURCE, TRACED, "exec"), names)
    call: Callable[P, T] = names["make"](is_tracing_whole, counted, uncounted or names["nothing"])
    return call


def is_tracing_whole() -> bool:
    """Whether the compiler traces in this thread, and a break of the graph would be an error."""
    tracer = member(TRACER, "InstructionTranslator")
    try:
        now = tracer.current_tx() if tracer is not None else None
    except AttributeError:  # it does not trace
        return False
    return any(getattr(now, name, False) for name in ("one_graph", "error_on_graph_break"))
