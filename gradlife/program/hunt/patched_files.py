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
            refuse_odd_file(at, names[at])
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


def refuse_odd_file(path: str, name: str) -> None:
    """Raise UsageError for a link out of the working folder, and for a file with several names: a new file has one."""
    real = os.path.realpath(path)
    if is_below(os.path.abspath(path), os.getcwd()) and not is_below(real, os.path.realpath(os.curdir)):
        raise UsageError(f"{name} is a link to {real}, outside of the working folder", f"cd there, or {BY_HAND}")
    links = os.stat(real).st_nlink
    if links > 1:
        raise UsageError(f"{name} has {links} names (hard links), and a new file would have one", BY_HAND)


def is_below(path: str, folder: str) -> bool:
    """Whether a path lies in a folder."""
    return path.startswith(os.path.join(folder, ""))


def keep_facts(path: str, new: str) -> None:
    """Give a new file the owner, the mode and the extended attributes of the old one. OSError if one cannot be kept."""
    old, now = os.stat(path), os.stat(new)
    try:
        if (old.st_uid, old.st_gid) != (now.st_uid, now.st_gid):
            os.chown(new, old.st_uid, old.st_gid)
    except PermissionError as error:
        raise OSError(error.errno, "its owner and group cannot be kept") from None
    try:
        for name in os.listxattr(path) if hasattr(os, "listxattr") else ():  # macOS has them too, Python does not
            os.setxattr(new, name, os.getxattr(path, name))
    except OSError as error:
        if error.errno != errno.ENOTSUP:  # a file system without any
            raise OSError(error.errno, "its extended attributes cannot be kept") from None
    os.chmod(new, old.st_mode)


def new_file(path: str, text: str) -> str:
    """Write the new text of a file beside it; return the name. Nothing stays if that fails."""
    if not os.access(path, os.W_OK):  # its folder may allow what the file does not
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    encoding, folder = encoding_of(path), os.path.dirname(path)
    with tempfile.NamedTemporaryFile("w", encoding=encoding, newline="", dir=folder, delete=False) as file:
        try:
            file.write(text)
            file.flush()
            keep_facts(path, file.name)
        except BaseException:
            unlink_quietly(file.name)
            raise
    return file.name
