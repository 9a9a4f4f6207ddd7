"""The folder in which the program starts. The command runs there, too: reports name files relative to it, and the program may
change its working folder.
"""

from __future__ import annotations

import os

#: The environment variable with that folder, for the program and the processes that it starts.
VARIABLE = "GRADLIFE_START_FOLDER"


def working_folder() -> str:
    """Return the working folder; empty if it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


class Start:
    """The folder in which the program starts: the command's, else the working folder, as this is imported before the program."""

    folder = os.environ.get(VARIABLE) or working_folder()

    @classmethod
    def note(cls) -> None:
        """Note that what is reported starts in the working folder, unless a command has said where."""
        cls.folder = os.environ.get(VARIABLE) or working_folder()


def environment() -> dict[str, str]:
    """Return the environment of a program that this command starts in its working folder."""
    return {**os.environ, VARIABLE: working_folder()}


def is_below_start(file: str) -> bool:
    """Whether a file is below the folder in which the program starts. A relative name is taken to be relative to it."""
    if not os.path.isabs(file):
        return not os.path.normpath(file).startswith(os.pardir)
    return bool(Start.folder) and not os.path.relpath(file, Start.folder).startswith(os.pardir)


def relative(file: str, folder: str) -> str:
    """Return a file relative to a folder if it is below it."""
    below = os.path.relpath(file, folder) if folder and os.path.isabs(file) else file
    return file if below.startswith(os.pardir) else below
