"""The worker's source for an interpreter that has no gradlife: one archive, which that interpreter imports it from."""

from __future__ import annotations

import os
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import gradlife

#: Files of the child's side of a run, relative to the folder of the package.
PARTS = ("__init__.py", "_version.py", "errors.py", "scenario.py", "runner/__init__.py", "probes", "runner/worker")


def write_archive(folder: str) -> str:
    """Write the worker's source to a file in a folder; its path."""
    path = os.path.join(folder, "worker.zip")
    with zipfile.ZipFile(path, "w") as archive:  # stored: zlib may be missing there
        for name, source in sources():
            archive.write(source, name)
    return path


def sources() -> Iterator[tuple[str, Path]]:
    """Each file of the worker with its name in the archive."""
    package = Path(gradlife.__file__).parent
    for part in PARTS:
        place = package / part
        for source in sorted(place.glob("*.py")) if place.is_dir() else [place]:
            yield f"gradlife/{source.relative_to(package).as_posix()}", source


def rest_of_package(abi: str) -> list[str]:
    """Return where an interpreter of this ABI finds the rest of gradlife, above all the heap graph; None if it is not
    ours.
    """
    return list(gradlife.__path__) if abi == sysconfig.get_config_var("SOABI") else []
