"""Changed sources that run in place of files, so that a program is tried with a patch and no file is touched."""

from __future__ import annotations

import os
import tokenize
from importlib.machinery import SourceFileLoader
from typing import Any

_CHANGED: dict[str, bytes] = {}


def source_of(path: str) -> bytes:
    """Return the source to run for a file: the changed text, if there is one. Raises OSError."""
    changed = _CHANGED.get(os.path.realpath(path))
    if changed is not None:
        return changed
    with open(path, "rb") as file:
        return file.read()


def encoding_of(path: str) -> str:
    """Return the encoding of a source, as its mark or its first lines declare it. Raises OSError, SyntaxError."""
    with open(path, "rb") as file:
        return tokenize.detect_encoding(file.readline)[0]


def change_sources(texts: dict[str, str]) -> None:
    """Import these texts in place of the files at their paths from now on; cached bytecode is ignored."""
    _CHANGED.update({os.path.realpath(path): text.encode(encoding_of(path)) for path, text in texts.items()})
    get_data, path_stats = SourceFileLoader.get_data, SourceFileLoader.path_stats

    def changed_data(loader: SourceFileLoader, path: Any) -> bytes:
        return _CHANGED.get(os.path.realpath(path)) or get_data(loader, path)

    def changed_stats(loader: SourceFileLoader, path: Any) -> Any:
        if os.path.realpath(path) in _CHANGED:
            raise OSError("a changed source has no cache")
        return path_stats(loader, path)

    SourceFileLoader.get_data = changed_data  # type: ignore[method-assign, assignment]
    SourceFileLoader.path_stats = changed_stats  # type: ignore[method-assign, assignment]
