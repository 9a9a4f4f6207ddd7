"""Files as a report shows them: relative to the folder in which the command and the program start."""

from __future__ import annotations

import os


def working_folder() -> str:
    """Return the working folder; empty if it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


class Start:
    """The folder in which the program starts, where the command runs, too: this is imported before the program."""

    folder = working_folder()

    @classmethod
    def note(cls) -> None:
        """Note that what is reported starts in the working folder."""
        cls.folder = working_folder()


def short_file(file: str) -> str:
    """Return a file relative to the working folder if it is below it; whole if the program has changed the folder."""
    here = working_folder()
    return relative(file, here) if here == Start.folder else file


def shown_file(file: str) -> str:
    """Return a file relative to the folder of the start, else to the working folder, if it is below one of them."""
    short = relative(file, Start.folder)
    return short if short != file else relative(file, working_folder())


def relative(file: str, folder: str) -> str:
    """Return a file relative to a folder if it is below it."""
    below = os.path.relpath(file, folder) if folder and os.path.isabs(file) else file
    return file if below.startswith(os.pardir) else below
