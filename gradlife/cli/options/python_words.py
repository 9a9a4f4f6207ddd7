"""A command line of Python in place of a script: `python -u train.py`, `python -m package.train`."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass

from gradlife.errors import UsageError

#: The name of an interpreter, and its version.
NAME = re.compile(r"python(?:3(?:\.(?P<minor>\d+))?)?(?:\.exe)?")

#: Options without a value that a program can be started with, and those with one.
FLAGS, VALUED = re.compile(r"-[bBdEIOPqsuvx]+"), ("-X", "-W")


@dataclass(frozen=True)
class PythonWords:
    """The options of Python, and what it is to run."""

    options: tuple[str, ...]
    is_module: bool
    program: tuple[str, ...]  # the script or module, and its arguments


def is_python(word: str) -> bool:
    """Whether a word names an interpreter: python3, .venv/bin/python."""
    return NAME.fullmatch(os.path.basename(word)) is not None


def read_python_words(words: list[str]) -> PythonWords:
    """Read a command line of Python. Raises UsageError for what cannot be run here, such as `-c`."""
    refuse_other_version(words[0])
    options: list[str] = []
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        word, *rest = rest
        if word == "-m" and rest:
            return PythonWords(tuple(options), True, tuple(rest))
        if word in VALUED and rest:
            options += [word, rest.pop(0)]
        elif FLAGS.fullmatch(word) or (word.startswith(VALUED) and len(word) > len("-X")):
            options.append(word)
        else:
            raise UsageError(f"{words[0]} {word} is no program in a file", f"{words[0]} SCRIPT")
    if not rest:
        raise UsageError(f"{words[0]} needs the name of a script", "gradlife hunt SCRIPT")
    return PythonWords(tuple(options), False, tuple(rest))


def refuse_other_version(interpreter: str) -> None:
    """Raise UsageError for an interpreter whose name has another version: programs run in that of gradlife."""
    found = NAME.fullmatch(os.path.basename(interpreter))
    if found is not None and found["minor"] is not None and int(found["minor"]) != sys.version_info.minor:
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise UsageError(
            f"gradlife is installed in Python {own}, not for {interpreter}", f"{interpreter} -m pip install"
        )
