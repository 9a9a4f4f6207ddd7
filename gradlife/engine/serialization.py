"""Files of tensors: written by `save`, read by `load`, which runs no code of the file.

A file is a line with the format's name, a pickle of all tensors' memory (bytes and dtype names), and a pickle of the
object with references to it. Only a fixed list of callables is allowed while reading, unless ``weights_only=False``.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import IO, Any

from gradlife import _engine
from gradlife.engine import rebuilding
from gradlife.engine.nn import parameter
from gradlife.engine.release import release
from gradlife.engine.tensors import Size, Tensor, device, layout, strided

_FORMAT = b"gradlife.tensors/1\n"

_ALLOWED: dict[tuple[str, str], Any] = {
    (item.__module__, item.__qualname__): item
    for item in (
        OrderedDict,
        Counter,
        Size,
        Tensor,
        device,
        layout,
        complex,
        set,
        frozenset,
        bytearray,
        slice,
        parameter.Parameter,
        parameter._rebuild_parameter,
        parameter._rebuild_parameter_with_state,
        rebuilding.rebuild_tensor,
        rebuilding.rebuild_typed,
    )
}
_DTYPES = {name: getattr(_engine, name) for name in ("float32", "float64", "int32", "int64", "bool")}


class _Pickler(pickle.Pickler):
    """Collects every memory once."""

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol)
        self.numbers: dict[Any, int] = {}
        self.memories: list[tuple[str, bytes]] = []
        self.kept: list[Any] = []  # kept alive until the end, so that no key is reused

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, rebuilding.Memory):
            return None
        if obj.key not in self.numbers:
            self.numbers[obj.key] = len(self.memories)
            self.memories.append(obj.packed())
            self.kept.append(obj)
        return self.numbers[obj.key]


class _Unpickler(pickle.Unpickler):
    """Finds memories again, and only allowed classes and functions."""

    def __init__(self, file: Any, memories: list[rebuilding.Memory], is_restricted: bool) -> None:
        super().__init__(file)
        self.memories = memories
        self.is_restricted = is_restricted

    def persistent_load(self, pid: Any) -> Any:
        return self.memories[pid]

    def find_class(self, module: str, name: str) -> Any:
        if not self.is_restricted:
            return super().find_class(module, name)
        if module in ("gradlife._engine", "gradlife.engine", "torch") and name in _DTYPES:
            return _DTYPES[name]
        if (module, name) == (layout.__module__, "strided"):
            return strided
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"Unsupported global: GLOBAL {module}.{name} was not an allowed global by default."
            ) from None


class _OnlyBytes(pickle.Unpickler):
    """Reads plain values."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"a list of memories has no {module}.{name}")


def save(obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = 4, **others: Any) -> None:
    """Write ``obj`` with its tensors to a path or a binary file. Sharing of memory is preserved."""
    with _opened(f, "wb") as file:
        body = io.BytesIO()
        pickler = _Pickler(body, max(pickle_protocol, 4))
        pickler.dump(obj)
        file.write(_FORMAT)
        pickle.dump(pickler.memories, file, 4)
        file.write(body.getvalue())


def load(f: Any, map_location: Any = None, pickle_module: Any = pickle, *, weights_only: bool | None = None) -> Any:
    """Read a file written by `save`.

    With ``weights_only`` (the default from release 2.6 on) only tensors, containers and plain values; without, code
    from the file is imported and run: only for files that you trust. Errors: pickle.UnpicklingError.
    """
    if map_location is not None and not callable(map_location):
        device(map_location)
    is_restricted = release() >= (2, 6) if weights_only is None else weights_only
    with _opened(f, "rb") as file:
        head = file.read(len(_FORMAT))
        if not head:
            raise EOFError
        if head != _FORMAT:
            raise pickle.UnpicklingError("this is no file that `save` of gradlife's engine wrote")
        memories = [rebuilding.unpacked(*item) for item in _OnlyBytes(file).load()]
        try:
            return _Unpickler(file, memories, is_restricted).load()
        except pickle.UnpicklingError as error:
            raise pickle.UnpicklingError(_failed(str(error))) if is_restricted else error from None


def _failed(reason: str) -> str:
    return (
        "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those steps only if "
        "you trust the source of the checkpoint\033[0m. \n\t(1) Re-running `torch.load` with `weights_only` set to `False` will "
        "likely succeed, but it can result in arbitrary code execution. Do it only if you got the file from a trusted source.\n\t"
        "(2) Alternatively, to load with `weights_only=True` please check the recommended steps in the following error "
        "message.\n\t"
        f"WeightsUnpickler error: {reason}"
    )


@contextlib.contextmanager
def _opened(f: Any, mode: str) -> Iterator[IO[bytes]]:
    if isinstance(f, (str, os.PathLike)):
        with open(f, mode) as file:
            yield file
        return
    if mode == "wb" and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if mode == "rb" and not hasattr(f, "seek"):
        raise AttributeError(
            f"'{type(f).__name__}' object has no attribute 'seek'. You can only torch.load from a file that is seekable. Please "
            "pre-load the data into a buffer like io.BytesIO and try to load from it instead."
        )
    yield f
