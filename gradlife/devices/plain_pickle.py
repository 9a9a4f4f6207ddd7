"""Read a pickle of plain containers, numbers and texts, without importing or calling anything that it names."""

from __future__ import annotations

import io
import os
import pickle
from typing import Any, NoReturn

from gradlife import _heap
from gradlife.errors import UsageError

#: The first byte of every pickle of protocol 2 and later.
MARK = b"\x80"

REMEDY = "a file that torch.cuda.memory._dump_snapshot wrote"


class AllocatorFileError(UsageError):
    """The file has no state of a caching allocator."""


class PlainUnpickler(pickle.Unpickler):
    """An unpickler without classes, functions and persistent references."""

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse every name."""
        raise pickle.UnpicklingError(f"it asks for {module}.{name}; only plain containers are read")

    def persistent_load(self, pid: Any) -> NoReturn:
        """Refuse every external reference."""
        raise pickle.UnpicklingError("it refers to something outside of the file")


def is_pickle(path: str) -> bool:
    """Whether the file begins like a pickle. False if it cannot be read or is not a regular file."""
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(1) == MARK
    except OSError:
        return False


def refuse_greedy(path: str, data: bytes) -> None:
    """Raise AllocatorFileError for a pickle that would take memory or time out of proportion to its size."""
    try:
        _heap.check_pickle(data)
    except ValueError as error:
        raise AllocatorFileError(f"{path} {error}", REMEDY) from None


def read_pickle(path: str) -> Any:
    """Return the contents of a pickle. Cost: some 5 s and 3 GB for a file of 1 GB, and at most 100 bytes for each of its own.

    Raises AllocatorFileError if the file cannot be read, is damaged, or has anything but plain containers.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
        refuse_greedy(path, data)
        return PlainUnpickler(io.BytesIO(data)).load()
    except OSError as error:
        raise AllocatorFileError(f"cannot read {path}: {error.strerror}", REMEDY) from None
    except MemoryError:
        raise AllocatorFileError(f"{path} does not fit into memory", "a machine with more memory") from None
    except AllocatorFileError:
        raise
    except Exception as error:  # a damaged pickle may raise almost anything
        words = str(error) or type(error).__name__
        raise AllocatorFileError(f"{path} is not a plain pickle: {words}", REMEDY) from None
