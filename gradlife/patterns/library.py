"""Leaks of libraries that are known: data, not code. Whose bug it is where that is not the program's."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradlife.patterns.matching import find, find_around
from gradlife.patterns.pattern import Case


@dataclass(frozen=True)
class KnownLeak:
    """A bug of a library: what its traces look like, in which versions, and where it is told."""

    library: str
    versions: str  # a specifier, "<2.12"
    link: str
    what: str
    codes: tuple[str, ...] = ()  # of diagnoses that it explains; empty: any
    way: str = ""  # in the language of `matching`; empty: any
    ring: str = ""
    types: tuple[str, ...] = ()  # of which one must be on the way, in full
    file: str = ""  # in which a function on the way must be defined

    @property
    def text(self) -> str:
        """In a line: "torch <2.12, pytorch/pytorch#183211: what"."""
        return f"{self.library} {self.versions}, {self.link}: {self.what}"


@functools.cache
def known_leaks() -> tuple[KnownLeak, ...]:
    """All that are known."""
    from importlib import resources  # slow to load, as is `packaging`: most hunts find nothing

    text = resources.files(__package__).joinpath("known_leaks.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["leak"]
    return tuple(KnownLeak(**{key: of_toml(value) for key, value in row.items()}) for row in rows)


def of_toml(value: Any) -> Any:
    """A list as a tuple."""
    return tuple(value) if isinstance(value, list) else value


def library_of(code: str, case: Case, versions: Mapping[str, str]) -> str:
    """The known bug of a library that a diagnosed trace shows, or nothing."""
    return next((leak.text for leak in known_leaks() if shows(leak, code, case, versions)), "")


def shows(leak: KnownLeak, code: str, case: Case, versions: Mapping[str, str]) -> bool:
    """Is this the leak, in a version that has it?"""
    if leak.codes and code not in leak.codes:
        return False
    if leak.way and find(leak.way, case.way) is None:
        return False
    if leak.ring and (not case.ring or find_around(leak.ring, case.ring) is None):
        return False
    steps = (*case.trace.cycle, *case.steps)
    if leak.types and not any(step.is_a(*leak.types) or step.detail in leak.types for step in steps):
        return False
    if leak.file and not any(f"({leak.file}:" in step.detail for step in steps):
        return False
    return has_bug(leak, versions.get(leak.library, ""))


def has_bug(leak: KnownLeak, version: str) -> bool:
    """Does the version's release have the bug? A local part and a pre-release mark make no difference."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        release = Version(version).base_version
    except InvalidVersion:
        return False
    return SpecifierSet(leak.versions).contains(release, prereleases=True)


def meets(requirement: str, versions: Mapping[str, str]) -> bool:
    """Is a library at hand in such a version: "torch>=2.10"? ValueError if that is no requirement."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.version import InvalidVersion, Version

    try:
        wanted = Requirement(requirement)
    except InvalidRequirement as error:
        raise ValueError(str(error)) from None
    try:
        release = Version(versions.get(wanted.name, "")).base_version
    except InvalidVersion:
        return False
    return wanted.specifier.contains(release, prereleases=True)
