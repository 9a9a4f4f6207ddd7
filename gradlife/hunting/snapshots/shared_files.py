"""Files of shared memory that a program closes and never unlinks: they take memory while no process has them mapped."""

from __future__ import annotations

import os
from dataclasses import dataclass

from gradlife.hunting.process.process_tree import processes, tree_of
from gradlife.hunting.process.shared_memory import FOLDER, files_there, is_memory, mappings_of
from gradlife.safe_access import loaded

#: The module by which a program makes them. Torch removes its own files.
MAKER = "multiprocessing.shared_memory"
TORCH = f"{FOLDER}/torch_"


@dataclass(frozen=True)
class SharedFiles:
    """The user's files of shared memory that neither this process nor its children have mapped."""

    count: int = 0
    bytes: int = 0
    example: str = ""  # the path of one


def shared_files_now() -> SharedFiles:
    """Count the files; none in a program that makes none. Costs some microseconds a file and some ms a process."""
    if loaded(MAKER) is None:
        return SharedFiles()
    tree = tree_of([os.getpid()], list(processes()))
    mapped = {key for pid in tree for key, *_ in mappings_of(pid)}
    paths = [
        path for key, path in files_there() if key not in mapped and is_memory(path) and not path.startswith(TORCH)
    ]
    found = [one for path in paths if (one := own_file(path)) is not None]
    return SharedFiles(len(found), sum(nbytes for _, nbytes in found), max(found, default=("", 0))[0])


def own_file(path: str) -> tuple[str, int] | None:
    """Return a file of this user with its bytes; None for another's, and if it is gone."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (path, found.st_size) if found.st_uid == os.geteuid() else None
