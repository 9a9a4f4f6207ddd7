"""Read and write snapshot files: writes are atomic, and reads check everything."""

from __future__ import annotations

import os

from gradlife import _heap
from gradlife.errors import UsageError
from gradlife.output import reason

#: A file's metadata: one key, tab and value per line.
Notes = tuple[tuple[str, str], ...]

#: The beginning of an ELF file, and where its header says that it is a core file.
ELF, CORE_AT, CORE = b"\x7fELF", 16, b"\x04\x00"

REMEDY = "take it again: gradlife snapshot -o FILE script.py"


class SnapshotFileError(UsageError):
    """The file is not a snapshot that this gradlife can read."""


def read_file(path: str) -> _heap.Graph:
    """Read a file's graph and check all of it. Raises SnapshotFileError."""
    try:
        # a plain open of a pipe without a writer would wait forever
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise SnapshotFileError(
            f"cannot read {path}: {why}", "the name of a file that gradlife snapshot wrote"
        ) from None
    try:
        if is_core(descriptor):
            raise SnapshotFileError(
                f"{path} is a core file, whose objects are not read: a walk needs the running interpreter's types, and "
                "torch's layout, which gradlife measures on live tensors",
                "gradlife attach PID --snapshot FILE, before the process ends",
            )
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


def is_core(descriptor: int) -> bool:
    """Whether a file is the memory of a process that ended, as the kernel or gcore writes it."""
    try:
        head = os.pread(descriptor, CORE_AT + len(CORE), 0)
    except OSError:  # a pipe
        return False
    return head.startswith(ELF) and head[CORE_AT:] == CORE


def packed_notes(notes: Notes) -> str:
    """Encode notes for a file."""
    return "".join(f"{key}\t{' '.join(value.split())}\n" for key, value in notes)


def unpacked_notes(text: str) -> Notes:
    """Decode a file's notes, whatever they contain."""
    pairs = (line.partition("\t") for line in text.splitlines())
    return tuple((key, value) for key, mark, value in pairs if mark)
