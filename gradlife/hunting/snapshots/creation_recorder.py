"""Records where objects are created while the program runs steps, for the requested types and without foreign
frames.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType

from gradlife import _heap
from gradlife.heap.program_modules import package_folders
from gradlife.heap.scan import OWN_FOLDER
from gradlife.heap.torch_layout.node_fields import sequence_offset
from gradlife.heap.torch_layout.torch import ensure_calibrated, undisturbed
from gradlife.hunting.snapshots.creation_sites import RecordedSites
from gradlife.hunting.snapshots.node_weights import LEAK_TYPES
from gradlife.hunting.snapshots.step_snapshots import ARRAY, full_name, subclasses, tensor_type_names
from gradlife.safe_access import loaded, member

#: Types recorded besides tensors before the growing types are known. Instances of other types have many sizes.
USUAL = (LEAK_TYPES | {ARRAY}) - {"frame", "generator", "coroutine", "async_generator", "type"}

#: Python reuses freed objects of these types without its allocator, so their block may show an earlier creator.
REUSED = frozenset({"list", "dict", "tuple", "float", "int", "slice", "Context", "_contextvars.Context"})

#: The torch function that returns the sequence number of the thread's next grad node, by its symbol.
NEXT_SEQUENCE = "_ZN2at15sequence_number4peekEv"

#: Code that runs the program: gradlife and its loop.
RUNNERS = ("<hunt>", OWN_FOLDER)

#: Files that nobody wrote: frozen modules, generated code.
NO_FILES = ("<frozen ", "<eval_with_key>", "<__array_function__ internals>")

#: Code without a file: the command line's code, methods that Python generated.
GIVEN = "<string>"


class Recording:
    """One recording of this process; holds no object of the program."""

    def __init__(self, launcher: str | None = None) -> None:
        self._runners = (*RUNNERS, launcher) if launcher else RUNNERS  # a script that only starts the program
        self.is_on = False
        self.was_on = False
        self._before: dict[str, int] = {}  # bytes of a block in front of the object, by type name
        self._offset = 0  # of a node's sequence number

    def start(self, names: Iterable[str] = ()) -> None:
        """Start recording tensors and objects of these types."""
        if not self.is_on:
            ensure_calibrated()
            torch = loaded("torch")
            watch = tensor_watch(torch) if torch is not None else None
            self._offset = watch[1] if watch is not None else 0
            try:
                _heap.start_recording(self._runners, library_files(), foreign_files(), watch)
            except RuntimeError:  # another hunt records, or other interpreters exist
                return
            self.is_on = self.was_on = True
        self._want({*names, *tensor_type_names()} - REUSED)

    def _want(self, names: set[str]) -> None:
        for kind in [] if names <= self._before.keys() else subclasses(object):
            name = full_name(kind)
            if name in names:
                _heap.want_type(kind)
                self._before[name] = _heap.bytes_before(kind)

    def sites(self) -> RecordedSites:
        """Return everything recorded so far. A node is identified by its sequence number, read while it is alive."""
        addresses, sites, creation_sites, stacks = _heap.recorded()
        rows = memoryview(creation_sites).cast("Q")
        nodes = {
            rows[at]: rows[at + 2]
            for at in range(0, len(rows), 3)
            if _heap._read_word(rows[at] + self._offset) == rows[at + 1]
        }
        return RecordedSites(addresses, sites, nodes, stacks, dict(self._before))

    def nodes_since(self, first: int) -> tuple[int, list[int]]:
        """Return the next grad node's number, and the addresses of live nodes numbered `first` or later that a new
        tensor showed. Returns 0 and no addresses if nodes are not recorded. Takes about 20 µs.
        """
        return _heap.living_nodes(first) if self.is_on else (0, [])

    def is_since(self, node: int, first: int) -> bool:
        """Whether the grad node at an address has this number or a later one. Other threads number their nodes
        separately.
        """
        number = _heap._read_word(node + self._offset) if self._offset else first
        return number is not None and number >= first

    def rest(self) -> None:
        """Pause recording until `resume`: new objects are not the program's."""
        if self.is_on:
            _heap.rest_recording()

    def resume(self) -> None:
        """Resume recording. Called by the program's runner, whose own stack is left out of recorded stacks."""
        if self.is_on:
            _heap.resume_recording(2)

    def stop(self) -> None:
        """Stop recording."""
        if self.is_on:
            self.is_on = False
            _heap.stop_recording()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause recording so that others may record; what it recorded before is discarded."""
        was_on = self.is_on
        self.stop()
        try:
            yield
        finally:
            if was_on:
                self.start(USUAL)


def library_files() -> tuple[str, ...]:
    """Return the path prefixes of files that belong to torch or to Python."""
    torch = member("torch", "__file__")
    folders = [os.path.dirname(os.__file__), os.path.dirname(torch) if torch else None]
    return (*NO_FILES, *(os.path.join(folder, "") for folder in folders if folder))


def foreign_files() -> tuple[str, ...]:
    """Return the path prefixes of installed packages and of code without a file: shown only if there is no other
    line.
    """
    return (GIVEN, *package_folders())


def tensor_watch(torch: ModuleType) -> tuple[tuple[type, ...], int, int] | None:
    """Return how to read a new tensor's node; None if this release does not show it."""
    try:
        next_sequence = address_of_next_sequence(torch)
        found = undisturbed(lambda: {"offset": sequence_offset(torch.ones(1, requires_grad=True))})
    except (OSError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return None
    offset: int | None = found["offset"]
    return (tensor_types(torch), offset, next_sequence) if offset is not None else None


def tensor_types(torch: ModuleType) -> tuple[type, ...]:
    """Return the wrapper classes, the most common first."""
    return (torch.Tensor, *(kind for kind in subclasses(torch._C.TensorBase) if kind is not torch.Tensor))


def address_of_next_sequence(torch: ModuleType) -> int:
    """Return the function's address in the library that torch loaded."""
    folder = os.path.join(os.path.dirname(str(torch.__file__)), "lib")
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    library = ctypes.CDLL(os.path.join(folder, f"libtorch_cpu{suffix}"))
    address = ctypes.cast(getattr(library, NEXT_SEQUENCE), ctypes.c_void_p).value
    if address is None:
        raise LookupError(NEXT_SEQUENCE)
    return address
