"""Snapshot files: written whole or not at all, and read with distrust."""

from __future__ import annotations

import os

from gradlife import _heap
from gradlife.errors import UsageError
from gradlife.heap.graph import HeapGraph
from gradlife.output import reason

#: A file's metadata: a key, a tab and a value on each line.
Notes = tuple[tuple[str, str], ...]

REMEDY = "take it again: gradlife snapshot -o FILE script.py"


class SnapshotFileError(UsageError):
    """A file that is no snapshot that this gradlife can read."""


def read_file(path: str) -> HeapGraph:
    """The graph in a file, checked from end to end. Raises SnapshotFileError."""
    try:
        # A pipe that nobody writes to would make a plain open wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise SnapshotFileError(
            f"cannot read {path}: {why}", "the name of a file that gradlife snapshot wrote"
        ) from None
    try:
        return _heap.open_graph(descriptor)
    except ValueError as error:
        hint = "a newer gradlife" if "newer" in str(error) else REMEDY
        raise SnapshotFileError(f"{path} {error}", hint) from None
    except OSError as error:
        raise SnapshotFileError(f"cannot read {path}: {reason(error)}", "the name of a snapshot file") from None
    except MemoryError:
        raise SnapshotFileError(f"{path} does not fit into memory", "a machine with more memory") from None
    finally:
        os.close(descriptor)


def packed_notes(notes: Notes) -> str:
    """Notes as they stand in a file."""
    return "".join(f"{key}\t{' '.join(value.split())}\n" for key, value in notes)


def unpacked_notes(text: str) -> Notes:
    """Notes out of a file, whatever stands there."""
    pairs = (line.partition("\t") for line in text.splitlines())
    return tuple((key, value) for key, mark, value in pairs if mark)
