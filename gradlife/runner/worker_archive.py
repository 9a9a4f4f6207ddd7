"""The worker's source as one archive, from which an interpreter without gradlife imports it."""

from __future__ import annotations

import os
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import gradlife

#: Files of the child's side, relative to the package folder.
PARTS = (
    "__init__.py", "_version.py", "errors.py", "supported_python.py", "visible_text.py", "scenario.py",
    "runner/__init__.py", "probes", "runner/worker",
)  # fmt: skip


def write_archive(folder: str) -> str:
    """Write the worker's source to a file in a folder, and return its path."""
    path = os.path.join(folder, "worker.zip")
    with zipfile.ZipFile(path, "w") as archive:  # uncompressed: the other interpreter may lack zlib
        for name, source in sources():
            archive.write(source, name)
    return path


def sources() -> Iterator[tuple[str, Path]]:
    """Yield the worker's files with their names in the archive."""
    package = Path(gradlife.__file__).parent
    for part in PARTS:
        place = package / part
        for source in sorted(place.glob("*.py")) if place.is_dir() else [place]:
            yield f"gradlife/{source.relative_to(package).as_posix()}", source


def rest_of_package(abi: str) -> list[str]:
    """Return where an interpreter of this ABI finds the rest of gradlife with the heap graph; None if the ABI differs."""
    return list(gradlife.__path__) if abi == sysconfig.get_config_var("SOABI") else []
