"""The errors of gradlife, in words for the user.

Each error is one line that says what happened, followed by the remedy. Its class determines the exit status of the
command (0 clean, 1 found, 2 usage, 3 inconclusive).
"""

from __future__ import annotations

from typing import Iterable

from gradlife.visible_text import visible_lines

EXIT_CLEAN = 0
EXIT_FOUND = 1
EXIT_USAGE = 2
EXIT_COULD_NOT_TELL = 3


#: Most characters of a message. A name in it may be as long as a file.
LONGEST = 2000


class GradlifeError(Exception):
    """An error with a one-line message; `hint` is what to try: a command, a name, a few words."""

    exit_status = EXIT_COULD_NOT_TELL

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.message} (try: {self.hint})" if self.hint else self.message
        return line_of(text)


class UsageError(GradlifeError):
    """A request that makes no sense, or names something that does not exist."""

    exit_status = EXIT_USAGE


class UnknownNameError(UsageError):
    """A name that gradlife does not know; the hint gives the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.kind = kind
        self.name = name
        self.nearest = nearest_names(name, known)
        if self.nearest:
            hint = " or ".join(self.nearest)
        super().__init__(f"unknown {kind} {shortened(name)!r}", hint)


class ScenarioError(UsageError):
    """The file is not a scenario, or a scenario contradicts itself or another one."""


class OutputError(UsageError):
    """A report cannot be written to the requested place."""


class MissingDependencyError(UsageError):
    """An optional package is missing; the hint is the command that installs it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed", f"pip install 'gradlife[{extra}]'")


class ExtensionMissingError(GradlifeError, ImportError):
    """The compiled part of gradlife is missing: the checkout was never built."""

    def __init__(self, extension: str) -> None:
        super().__init__(
            f"the compiled extension {extension} is missing", "make build, in a checkout; or pip install ."
        )


class UnsupportedPythonError(GradlifeError, ImportError):
    """This interpreter keeps its objects in a way that gradlife cannot read; the hint names one that it can."""


def line_of(text: str) -> str:
    """Return a message as the one line that a user sees."""
    return visible_lines(shortened(" ".join(text.split()), LONGEST))


def nearest_names(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the names in `known` most similar to `name`, best first."""
    import difflib  # imported here: only a failing command needs it

    return difflib.get_close_matches(name, sorted(set(known)), n=limit, cutoff=0.5)


def shortened(text: str, limit: int = 80) -> str:
    """Cut `text` to `limit` characters, so that an error stays one readable line."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
