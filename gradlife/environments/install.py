"""Make a virtual environment and let pip fill it; a failure shows pip's last lines and a remedy."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gradlife.environments.ask_interpreter import child_environment
from gradlife.environments.places import python_of
from gradlife.environments.shown_command import Shown, run_shown
from gradlife.errors import EXIT_COULD_NOT_TELL, UsageError, shortened

#: Number of pip's last lines shown.
LINES = 3

#: Messages of pip with their remedies. The first match counts.
REMEDIES = (
    (("no space left",), "free some space and repeat the command: it continues where it stopped"),
    (
        ("name resolution", "max retries", "connection", "timed out", "network is unreachable", "proxy"),
        "repeat the command when the network is back: it continues where it stopped",
    ),
    (
        ("no matching distribution", "requires-python", "requires a different python", "is not a supported wheel"),
        "a version for this Python, or a Python for this version: --python PATH",
    ),
    (("invalid requirement",), "a package as pip takes it: torch==1.1.0"),
)

#: Remedies from this one on mean that the request is wrong.
FIRST_MISTAKE = 2


class InstallError(UsageError):
    """Something could not be installed. A wrong request has the exit status of a usage error."""

    def __init__(self, message: str, hint: str, is_mistake: bool) -> None:
        super().__init__(message, hint)
        self.is_mistake = is_mistake
        self.exit_status = UsageError.exit_status if is_mistake else EXIT_COULD_NOT_TELL


def make_virtual_environment(base: str, folder: Path) -> None:
    """Make a virtual environment with pip in this folder, unless a working one exists."""
    python = str(python_of(folder))
    if has_pip(python):
        return
    shown = run_shown([base, "-m", "venv", str(folder)], child_environment(base))
    if shown.exit_code != 0 or not has_pip(python):
        hint = "the package of that Python with venv and ensurepip, such as python3-venv"
        raise InstallError(f"{base} makes no virtual environment: {words_of(shown)}", hint, is_mistake=True)


def has_pip(python: str) -> bool:
    """Whether this interpreter starts and has pip."""
    try:
        command = [python, "-m", "pip", "--version"]
        return not subprocess.run(command, capture_output=True, env=child_environment(python)).returncode
    except OSError:
        return False


def install(python: str, packages: Sequence[str], requirements: Sequence[str] = (), is_quiet: bool = False) -> None:
    """Let pip install packages, which it checks by its own rules, and what files of requirements list."""
    files = [word for file in requirements for word in ("--requirement", file)]
    options = ["--disable-pip-version-check", "--no-input"]
    command = [python, "-m", "pip", *options, "install", *files, "--", *packages]
    shown = run_shown(command, child_environment(python), io.StringIO() if is_quiet else None)
    if shown.exit_code != 0:
        raise install_error(shown, packages)


def install_error(shown: Shown, packages: Sequence[str]) -> InstallError:
    """Return the message for a failed pip."""
    said = "\n".join(shown.lines).lower()
    number, hint = next(
        ((number, hint) for number, (signs, hint) in enumerate(REMEDIES) if any(sign in said for sign in signs)),
        (0, "repeat the command: it continues where it stopped; pip's output is above"),
    )
    message = f"pip could not install {shortened(' '.join(packages))}: {words_of(shown)}"
    return InstallError(message, hint, is_mistake=number >= FIRST_MISTAKE)


def words_of(shown: Shown) -> str:
    """Return the last lines of a command, preferring those that pip marks as errors."""
    errors = [line for line in shown.lines if line.startswith("ERROR:")]
    lines = (errors or shown.lines)[-LINES:]
    return " / ".join(shortened(line, 200) for line in lines) or f"exit code {shown.exit_code}"
