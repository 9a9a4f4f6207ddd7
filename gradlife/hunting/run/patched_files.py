"""Writes the patched texts of files: all of them or none, as far as the file system allows, and says which."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

from gradlife.errors import UsageError
from gradlife.hunting.process.changed_sources import encoding_of
from gradlife.output import reason, unlink_quietly

#: What shows the change of a file that could not be written.
BY_HAND = "gradlife hunt --patch FILE"


@dataclass(frozen=True)
class Written:
    """The files that were changed, by their relative paths, and what went wrong with the others."""

    files: tuple[str, ...] = ()
    others: tuple[str, ...] = ()  # not changed
    trouble: str = ""

    @property
    def sentence(self) -> str:
        """Which files were changed, and which were not; empty if none was to be."""
        if not self.files and not self.others:
            return ""
        changed = f"{', '.join(self.files)} changed" if self.files else "no file was changed"
        return f"{changed}; {', '.join(self.others)} not changed" if self.files and self.others else changed


def text_of(path: str) -> str:
    """Read a source as Python does, with its line ends unchanged. UsageError if it cannot be read."""
    try:
        with open(path, encoding=encoding_of(path), newline="") as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        words = reason(error) if isinstance(error, OSError) else "it is no text in the encoding that it declares"
        raise UsageError(f"cannot read {path}: {words}", f"{BY_HAND}, and git apply") from None


def write_texts(texts: Mapping[str, str], before: Mapping[str, str]) -> Written:
    """Write files, unless one has no longer the text ``before``: the run that tried the patch may have taken hours.

    All are written beside the files first, so that the last step is as good as certain.
    """
    names = {path: os.path.relpath(path) for path in texts}
    staged: list[tuple[str, str]] = []
    changed: list[str] = []
    at = trouble = ""
    try:
        for at, text in texts.items():
            if text_of(at) != before[at]:
                raise UsageError(f"{names[at]} has changed since the fix was tried", "hunt again")
            staged.append((at, new_file(os.path.realpath(at), text)))  # a link stays a link
        for at, new in staged:
            os.replace(new, os.path.realpath(at))
            changed.append(names[at])
    except UsageError as error:
        trouble = str(error)
    except OSError as error:
        trouble = f"cannot write {names[at]}: {reason(error)} (try: {BY_HAND})"
    finally:
        for _, new in staged[len(changed) :]:
            unlink_quietly(new)
    return Written(tuple(changed), tuple(one for one in names.values() if one not in changed), trouble)


def new_file(path: str, text: str) -> str:
    """Write the new text of a file beside it; return the name. Nothing stays if that fails."""
    if not os.access(path, os.W_OK):  # its folder may allow what the file does not
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    encoding, folder = encoding_of(path), os.path.dirname(path)
    with tempfile.NamedTemporaryFile("w", encoding=encoding, newline="", dir=folder, delete=False) as file:
        try:
            file.write(text)
            file.flush()
            os.chmod(file.name, os.stat(path).st_mode)
        except BaseException:
            unlink_quietly(file.name)
            raise
    return file.name
