"""Compiled regions and operators that call functions, such as `torch.cond`: each is recorded as one operation."""

from __future__ import annotations

import functools
import re
import warnings
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

from gradlife import _heap
from gradlife.peaks.recording.lifetimes import Recording
from gradlife.safe_access import LibraryObject, member

#: What a region is called among the operations.
NAME = "compiled region"

#: What torch warns of when a compiled module runs beside the hooks that tell the running module.
HOOKS_WARNING = r"Using `torch\.compile\(module\)` when there are global hooks on modules"

#: What a report says of compiled code: as one operation a region, or as this torch runs it under a dispatch mode.
AS_ONE = "A compiled region is one operation here: memory that it frees before it ends is not seen."
WITH_FUNCTIONS = (
    "`{}` runs functions of the program, and is one operation here: memory that they free before it ends is not seen."
)
UNCOMPILED = "Code under torch.compile ran uncompiled in the recorded steps."


def mode_beside_compiled_code(base: LibraryObject) -> Any:
    """Return a dispatch mode under which compiled code stays compiled, if this torch has such modes.

    It gets operators that call functions, too: torch refuses to run one under a mode that does not.
    """
    return mode_class(base)()


@functools.cache
def mode_class(base: LibraryObject) -> Any:
    """Return the class of that mode. Kept, because older releases register it with each operator that calls functions."""
    settings = {"ignore_compile_internals": classmethod(lambda cls: True), "supports_higher_order_operators": True}
    return type("LifetimeMode", (base,), settings)


def admit_operators_with_functions(mode_type: LibraryObject) -> None:
    """Register the mode with each operator that calls functions, as releases without that setting of a mode demand."""
    if any("supports_higher_order_operators" in vars(base) for base in mode_type.__mro__[1:]):
        return
    for operator in list(member("torch._ops", "_higher_order_ops", {}).values()):
        with suppress(AssertionError):  # it is registered
            operator.py_impl(mode_type)(functools.partial(run_with_functions, operator))


def run_with_functions(operator: Any, mode: LibraryObject, *args: Any, **kwargs: Any) -> Any:
    """Run an operator that calls functions as the mode runs any other."""
    return mode.__torch_dispatch__(operator, (), args, kwargs)


def limits_of(recording: Recording) -> tuple[str, ...]:
    """Return what a recording does not show of code under torch.compile, and of operators that call functions."""
    return (*compiled_limits(recording), *(WITH_FUNCTIONS.format(name) for name in operators_with_functions(recording)))


def operators_with_functions(recording: Recording) -> list[str]:
    """Return the recorded operators that call functions of the program, by name."""
    known = member("torch._ops", "_higher_order_ops", {})
    return sorted({one.function for one in recording.operations} & set(known))


def compiled_limits(recording: Recording) -> tuple[str, ...]:
    """Return what a recording does not show of code under torch.compile."""
    if any(one.function == NAME for one in recording.operations):
        return (AS_ONE,)
    counters = member("torch._dynamo.utils", "counters", {})
    base = member("torch.utils._python_dispatch", "TorchDispatchMode")
    is_uncompiled = counters.get("frames", {}).get("ok") and not hasattr(base, "ignore_compile_internals")
    return (UNCOMPILED,) if is_uncompiled else ()


class CompiledRegions:
    """Records each run of a compiled region under a dispatch mode: its inputs as read, its outputs as made."""

    def __init__(self, mode: Any, modes: Any) -> None:
        self._mode, self._modes = mode, modes  # the latter is torch's module of dispatch modes
        self._graph: Any = None  # the class of what Inductor makes of a graph
        self._plain: Any = None
        self._filter = ("ignore", re.compile(HOOKS_WARNING), Warning, None, 0)
        self._operation = SimpleNamespace(_overloadpacket=NAME, _op=self._run)

    def start(self) -> None:
        """Record regions from now on. Does nothing if that is so, or if nothing is compiled yet.

        Operators that call functions are admitted again at each call: the program may have imported more of them.
        """
        admit_operators_with_functions(type(self._mode))
        graph = member("torch._inductor.output_code", "CompiledFxGraph")
        if graph is not None and self._graph is None:
            # `filterwarnings` would make Python show each warning of the program once more.
            cast("list[Any]", warnings.filters).insert(0, self._filter)
            self._graph, self._plain = graph, graph.__call__
            graph.__call__ = lambda compiled, inputs: self._record(compiled, inputs)

    def stop(self) -> None:
        """Restore torch's own call."""
        if self._graph is not None:
            self._graph.__call__ = self._plain
            self._graph = None
            with suppress(ValueError):  # the program may have removed it
                cast("list[Any]", warnings.filters).remove(self._filter)

    def _record(self, compiled: Any, inputs: Any) -> Any:
        # Another mode runs within another operation, or is one of the program's.
        if self._modes._get_current_dispatch_mode() is not self._mode:
            return self._plain(compiled, inputs)
        return _heap.run_followed(self._mode, self._operation, (), (compiled, inputs), {})

    def _run(self, compiled: Any, inputs: Any) -> Any:
        """Run a region without the mode: its kernels call some operations of torch."""
        with self._modes._pop_mode_temporarily():
            return self._plain(compiled, inputs)
