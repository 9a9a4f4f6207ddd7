"""Files as a report shows them: relative to the folder in which the command and the program start."""

from __future__ import annotations

from gradlife.hunting.process.start_folder import Start, relative, working_folder


def short_file(file: str) -> str:
    """Return a file relative to the working folder if it is below it; whole if the program has changed the folder."""
    here = working_folder()
    return relative(file, here) if here == Start.folder else file


def shown_file(file: str) -> str:
    """Return a file relative to the folder of the start, else to the working folder, if it is below one of them."""
    short = relative(file, Start.folder)
    return short if short != file else relative(file, working_folder())
