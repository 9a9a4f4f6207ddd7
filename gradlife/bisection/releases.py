"""The releases of a library between two, each in an environment of its own, with everything else as it is here."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from gradlife.bisection.followed import Surroundings
from gradlife.environments.ask_interpreter import child_environment
from gradlife.environments.install import install, make_virtual_environment
from gradlife.environments.places import python_of
from gradlife.errors import UsageError, shortened
from gradlife.model.bisection import Candidate

#: torch==2.9..2.14
RANGE = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<old>[0-9][A-Za-z0-9.]*?)\.\.(?P<new>[0-9][A-Za-z0-9.]*)")

#: The line of `pip index versions` with the versions.
VERSIONS = re.compile(r"^Available versions: (.*)$", re.MULTILINE)

#: The file in an environment that is complete.
READY = "gradlife-bisect"

#: The file that makes the packages of this environment follow those of a new one.
LAYER = "gradlife-bisect-layer.pth"

#: Seconds for the package index to answer.
PATIENCE = 120


@dataclass(frozen=True)
class ReleaseRange:
    """A range of releases: ``torch==2.9..2.14``, both ends included."""

    name: str
    old: Version
    new: Version


def range_of(text: str) -> ReleaseRange | None:
    """Parse a range; None for what is none. Raises UsageError if its ends are in the wrong order or no versions."""
    found = RANGE.fullmatch(text)
    if found is None:
        return None
    try:
        old, new = Version(found["old"]), Version(found["new"])
    except InvalidVersion as error:
        raise UsageError(f"{shortened(text)}: {error}", "torch==2.9..2.14") from None
    if old >= new:
        raise UsageError(
            f"{shortened(text)}: the good release is first, and is older", f"{found['name']}=={new}..{old}"
        )
    return ReleaseRange(found["name"], old, new)


def versions_from_pip(name: str) -> list[str]:
    """Ask pip which versions of a package there are for this interpreter. Raises UsageError."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "index",
        "versions",
        "--",
        name,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"pip did not list the versions of {name} in {PATIENCE} seconds", "pip index versions"
        ) from None
    found = VERSIONS.search(done.stdout)
    if done.returncode != 0 or found is None:
        errors = (
            [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines() or ["?"]
        )
        raise UsageError(f"pip lists no versions of {name}: {shortened(errors[-1], 200)}", f"pip index versions {name}")
    return found[1].split(", ")


def releases_in(wanted: ReleaseRange, versions: Sequence[str]) -> list[Candidate]:
    """Return the releases of a range that exist, oldest first, without pre-releases. Raises UsageError for fewer than two."""
    known = sorted({Version(one) for one in versions if is_version(one)})
    found = [one for one in known if wanted.old <= one <= wanted.new and not one.is_prerelease]
    if len(found) < 2:
        there = f"{known[0]} to {known[-1]}" if known else "none"
        raise UsageError(
            f"{wanted.name} has {len(found)} releases from {wanted.old} to {wanted.new}; there are {there}",
            f"pip index versions {wanted.name}",
        )
    return [Candidate(f"{wanted.name} {one}", str(one)) for one in found]


def is_version(text: str) -> bool:
    """Whether a text is a version."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


#: Fills a new folder with an environment: its folder, the packages, the files of requirements.
Maker = Callable[[Path, Sequence[str], Sequence[str]], None]


def make_environment(folder: Path, packages: Sequence[str], requirements: Sequence[str]) -> None:
    """Make an environment over this one: the packages go before those that are here. Raises InstallError."""
    make_virtual_environment(sys.executable, folder)
    lines = [f"import site; site.addsitedir({path!r})\n" for path in own_site_folders()]
    for place in (folder / "lib").glob("python3*/site-packages"):
        (place / LAYER).write_text("".join(lines), encoding="utf-8")
    install(str(python_of(folder)), packages, requirements, is_quiet=True)


def own_site_folders() -> list[str]:
    """Return the folders with the packages of this interpreter."""
    return list(dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")))


class Environments:
    """Environments with one release each, in a folder. Those that are complete are used again."""

    def __init__(
        self, name: str, folder: Path, requirements: Sequence[str], is_kept: bool, make: Maker = make_environment
    ) -> None:
        self._name = name
        self._folder = folder
        self._requirements = [os.path.abspath(one) for one in requirements]
        self._is_kept = is_kept
        self._make = make

    def place(self, release: Candidate) -> Surroundings:
        """Return where to hunt with a release; it is installed if it is not there. Raises InstallError."""
        folder = self.folder_of(release)
        if not (folder / READY).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            self._make(folder, [f"{self._name}=={release.key}"], self._requirements)
            (folder / READY).write_text(release.name, encoding="utf-8")
        python = str(python_of(folder))
        return Surroundings(python, os.getcwd(), child_environment(python))

    def done_with(self, release: Candidate) -> None:
        """Remove the environment, unless they are kept: one with PyTorch has gigabytes."""
        if not self._is_kept:
            shutil.rmtree(self.folder_of(release), ignore_errors=True)

    def folder_of(self, release: Candidate) -> Path:
        """Return the folder of a release; other requirements have others."""
        content = b"".join(Path(one).read_bytes() for one in self._requirements)
        mark = f"-{hashlib.sha256(content).hexdigest()[:8]}" if content else ""
        return self._folder / f"{self._name}-{release.key}-py{sys.version_info.major}.{sys.version_info.minor}{mark}"
