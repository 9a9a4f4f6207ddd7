"""The recorder: a dispatch mode and hooks that are installed only while a few steps run."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

from gradlife import _heap
from gradlife.after_fork import after_fork
from gradlife.errors import GradlifeError
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.snapshots.creation_recorder import RUNNERS, foreign_files, library_files
from gradlife.peaks.recording.compiled import CompiledRegions, mode_beside_compiled_code
from gradlife.peaks.recording.holders import storage_addresses
from gradlife.peaks.recording.lifetimes import OPTIMIZER, Recording, read_recording
from gradlife.peaks.recording.modes import Leaving, put_below, take_out
from gradlife.safe_access import LibraryObject, attributes, exact_text, is_a, short_class_name, values_in

#: The symbol of the torch function that tells whether the thread runs a backward pass.
GRAPH_TASK = "_ZN5torch8autograd25get_current_graph_task_idEv"

#: Operations that may overwrite a whole tensor without reading it.
OVERWRITING = frozenset(
    {
        *("zero_", "fill_", "copy_", "zero", "fill", "_foreach_zero_", "_foreach_copy_"),
        *("normal_", "uniform_", "random_", "bernoulli_", "exponential_"),
    }
)


class Recorder:
    """Records the operations of this process from `start` to `stop`. ``on_alarm`` runs after the chosen operation."""

    def __init__(self, contexts: Contexts, on_alarm: Callable[[], object]) -> None:
        self._on_alarm = on_alarm
        self._mode: Any = None
        self._modes: Any = None  # torch's module of dispatch modes
        self._thread = 0  # that has the mode
        self._regions: Any = None
        self._names: list[str] = []
        self._contexts = contexts
        self._handles: list[Any] = []
        self.steps: list[int] = []  # the first operation of each step
        self.is_on = False

    def start(self) -> None:
        """Start recording. Finding the existing storages takes about 0.3 s per million objects.

        Raises GradlifeError if the memory layout of this torch is unknown.
        """
        import torch
        from torch.utils import _python_dispatch

        ensure_calibrated()
        known = in_fork(storage_addresses)
        places = (RUNNERS, library_files(), foreign_files())
        try:
            _heap.follow_storages(
                known, *places, torch.Tensor, self._describe, whole_outputs, self._on_alarm, graph_task(torch)
            )
        except RuntimeError as error:
            raise GradlifeError(f"storages cannot be followed here: {error}", "gradlife doctor") from None
        self._mode = mode_beside_compiled_code(_python_dispatch.TorchDispatchMode)
        self._mode.__torch_dispatch__ = types.MethodType(_heap.run_followed, self._mode)
        self._regions = CompiledRegions(self._mode, _python_dispatch)
        self._regions.start()
        self._handles = self._contexts.start(torch.nn.modules.module)
        self.steps = [0]
        self._modes, self._thread = _python_dispatch, threading.get_ident()
        put_below(_python_dispatch, self._mode)
        self.is_on = True
        _under_way.add(self)

    @property
    def is_here(self) -> bool:
        """Whether this is the thread that is recorded."""
        return threading.get_ident() == self._thread

    def mark_step(self) -> int:
        """End the current step. Return the number of operations so far."""
        self._regions.start()
        self._contexts.mark_step()
        self.steps.append(_heap.followed_operations())
        return self.steps[-1]

    def alarm_at(self, operation: int) -> None:
        """Set the alarm to call ``on_alarm`` after an operation."""
        _heap.set_followed_alarm(operation)

    def stop(self) -> Recording:
        """End the recording, and return it. Another thread than the recorded one leaves the mode there, without effect."""
        self.is_on = False
        _under_way.discard(self)
        with ExitStack() as ends:
            for end in (
                unfollow,
                self._contexts.stop,
                *(handle.remove for handle in self._handles),
                self._regions.stop,
            ):
                ends.callback(end)
            self._leave_mode()
            return self.so_far()

    def _leave_mode(self) -> None:
        if not self.is_here:
            Leaving(self._modes, self._mode, self._thread, sys.modules["torch.nn.modules.module"])
        elif take_out(self._modes, self._mode):
            del self._mode.__torch_dispatch__

    def so_far(self) -> Recording:
        """Return the recording up to now."""
        return read_recording(_heap.followed(), self._names, self._contexts.names, list(self.steps))

    def _describe(self, function: LibraryObject) -> tuple[Callable[..., Any], bool, bool]:
        """Return the callable of an operation, whether it may overwrite tensors, and whether it only makes a view."""
        name = str(getattr(function, "_opname", function))
        self._names.append(str(getattr(function, "_overloadpacket", function)))
        overwrites = name in OVERWRITING or "out" in getattr(function, "_overloadname", "")
        operation: LibraryObject = getattr(function, "_op", function)
        return operation, overwrites, bool(getattr(function, "is_view", False))


#: The recorders that are on.
_under_way: weakref.WeakSet[Recorder] = weakref.WeakSet()


def end_in_fork() -> None:
    """End all recordings in a process that the program forks, such as a worker of a DataLoader: nobody reads them there."""
    for recorder in list(_under_way):
        with suppress(Exception):  # Python would print it among the program's own errors
            recorder.stop()


after_fork(end_in_fork, in_copies=False)

#: Closures of an optimizer. Another callable may be something else, such as a module.
CLOSURES = (types.FunctionType, types.MethodType, functools.partial)


def unfollow() -> None:
    """Follow storages no longer, and return a weak reference of each."""
    import torch

    rows = memoryview(_heap.followed()[2]).cast("Q")
    _heap.unfollow_storages()
    for at in range(0, len(rows), 4):
        torch.UntypedStorage._free_weak_ref(rows[at])


def named_parts(module: object) -> Iterator[tuple[str, object]]:
    """Yield a module and its parts, each once, with their paths. `named_modules` may be the program's own."""
    waiting, seen = [("", module)], set[int]()
    while waiting:
        path, one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield path, one
        parts: Any = attributes(one).get("_modules")
        found = list(dict.items(parts)) if is_a(parts, dict) else []
        for name, part in reversed(found):
            if part is not None:
                where = exact_text(name) or short_class_name(part)
                waiting.append((f"{path}.{where}" if path else where, part))


class Contexts:
    """The path of the running module, or that an optimizer runs, as a number."""

    def __init__(self) -> None:
        self.names = [""]
        self._numbers: dict[str, int] = {"": 0}
        self._stack: list[int] = []
        self._paths: dict[int, str] = {}
        self._named: dict[str, Callable[[], Any]] = {}  # weak references to the modules with these paths
        self._is_on = False
        self._optimizers: list[Any] = []
        self._starts: list[float] = []  # start times of the contexts in the stack
        self._step_start = 0.0
        self.seconds: dict[str, float] = {}  # forward time by module path; under "" the time of all steps

    def attach(self, optimizer_module: types.ModuleType) -> None:
        """Listen to optimizers, before any runs: torch cannot add a hook while it calls its hooks."""
        self._optimizers = [
            optimizer_module.register_optimizer_step_pre_hook(self._enter_optimizer),
            optimizer_module.register_optimizer_step_post_hook(self._leave),
        ]

    def detach(self) -> None:
        """Stop listening to optimizers. Never call it from one of torch's hooks."""
        for handle in self._optimizers:
            handle.remove()

    def start(self, module_module: types.ModuleType) -> list[Any]:
        """Listen to every module from now on. Return the handles that end it."""
        self._is_on = True
        self._stack, self._starts = [], []
        self.seconds.clear()
        self._step_start = time.perf_counter()
        return [
            module_module.register_module_forward_pre_hook(self._enter_module),
            module_module.register_module_forward_hook(self._leave, always_call=True),
        ]

    def mark_step(self) -> None:
        """End the time of one step and start that of the next."""
        now = time.perf_counter()
        self.seconds[""] = self.seconds.get("", 0.0) + now - self._step_start
        self._step_start = now

    def stop(self) -> None:
        """Stop listening."""
        self._is_on = False
        self._stack.clear()
        self._starts.clear()
        self._paths.clear()
        self._named.clear()

    def _enter_module(self, module: Any, _: Any) -> None:
        path = self._paths.get(id(module))
        if path is None or self._named[path]() is not module:
            self._name(dict(named_parts(module)), short_class_name(module))
            path = self._paths[id(module)]
        self._enter(path)

    def _name(self, parts: dict[str, Any], root: str) -> None:
        """Name an outermost module and its parts; a second model whose parts have the same paths gets its class before them."""
        prefixes = itertools.chain(("", root), (f"{root}{number}" for number in itertools.count(2)))
        for prefix in prefixes:
            named = {".".join(filter(None, (prefix, where))) or root: part for where, part in parts.items()}
            if not any(self._is_other(path, part) for path, part in named.items()):
                break
        self._named.update((path, weakref.ref(part)) for path, part in named.items())
        self._paths.update((id(part), path) for path, part in named.items())

    def _is_other(self, path: str, module: Any) -> bool:
        """Whether the path is that of another living module."""
        owner = self._named[path]() if path in self._named else None
        return owner is not None and owner is not module

    def _enter_optimizer(self, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any] | None:
        """Enter an optimizer. A closure that it gets runs outside of it: that is a forward and a backward pass."""
        self._enter(OPTIMIZER)
        if not self._is_on:
            return None
        if len(args) > 1 and is_a(args[1], CLOSURES):
            return (args[0], self._outside(args[1]), *args[2:]), kwargs
        if is_a(kwargs.get("closure"), CLOSURES):
            return args, {**kwargs, "closure": self._outside(kwargs["closure"])}
        return None

    def _outside(self, closure: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(closure)
        def run(*args: Any, **kwargs: Any) -> Any:
            before = self._stack, self._starts
            self._stack, self._starts = [], []
            _heap.set_followed_context(0)
            try:
                return closure(*args, **kwargs)
            finally:
                if self._is_on:
                    self._stack, self._starts = before
                    _heap.set_followed_context(self._stack[-1] if self._stack else 0)

        return run

    def _enter(self, name: str) -> None:
        if not self._is_on:
            return
        number = self._numbers.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        self._stack.append(number)
        self._starts.append(time.perf_counter())
        _heap.set_followed_context(number)

    def _leave(self, *_: Any) -> None:
        if not self._is_on:
            return
        if self._stack:
            name, start = self.names[self._stack.pop()], self._starts.pop()
            if name != OPTIMIZER:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        _heap.set_followed_context(self._stack[-1] if self._stack else 0)


def whole_outputs(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> list[Any]:
    """Return the tensors that an operation overwrites completely, and does not read."""
    keywords = kwargs or {}
    outputs = [value for name, value in keywords.items() if name.startswith("out")]
    inputs = [*args, *(value for name, value in keywords.items() if not name.startswith("out"))]
    if not outputs:
        outputs, inputs = flat(inputs[:1]), inputs[1:]
    read = {storage_of(one) for one in flat(inputs)}
    return [one for one in outputs if covers_its_storage(one) and storage_of(one) not in read]


def flat(values: list[Any]) -> list[Any]:
    """Return values and the items of those that are lists."""
    return [item for value in values for item in (values_in(value) if is_a(value, (list, tuple)) else (value,))]


def storage_of(tensor: LibraryObject) -> int:
    """Return the address of a tensor's storage; 0 for what has none."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (AttributeError, RuntimeError, NotImplementedError):
        return 0


def covers_its_storage(tensor: LibraryObject) -> bool:
    """Whether the tensor's elements cover its whole storage, each once."""
    try:
        nbytes: int = tensor.numel() * tensor.element_size()
        return bool(nbytes == tensor.untyped_storage().nbytes() and tensor.is_contiguous())
    except (AttributeError, RuntimeError, NotImplementedError):
        return False


def graph_task(torch: types.ModuleType) -> int:
    """Return the address of the function that tells a thread's graph task; 0 if this torch has none."""
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    try:
        library = ctypes.CDLL(os.path.join(os.path.dirname(str(torch.__file__)), "lib", f"libtorch_cpu{suffix}"))
        return ctypes.cast(getattr(library, GRAPH_TASK), ctypes.c_void_p).value or 0
    except (OSError, AttributeError):
        return 0
