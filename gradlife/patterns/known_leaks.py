"""Known leaks of libraries, as data: find the library bug behind a diagnosed trace."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradlife.model.trace import PathStep, code_in
from gradlife.patterns.matching.matcher import find, find_around
from gradlife.patterns.matching.pattern import Case


@dataclass(frozen=True)
class KnownLeak:
    """A bug of a library: the pattern of its traces, the affected versions, and its issue."""

    library: str  # as on PyPI
    versions: str  # a specifier, "<2.12"; empty: the source names no release
    link: str
    what: str
    advice: str
    codes: tuple[str, ...]  # codes that it explains
    module: str = ""  # that the library is imported as, if it is not named so
    ran: str = ""  # the release with which a hunt named it; empty: its source was read only
    story: str = ""  # whose `subject` the recordings show as `never` in exactly these versions
    subject: str = ""
    unrecorded: str = ""  # why no recording of the framework shows it; empty with a story
    path: str = ""  # in the language of `matching`; empty: any
    cycle: str = ""
    types: tuple[str, ...] = ()  # full names of types, or names of modules; one must be on the path
    attribute: str = ""  # by which the object of that type refers to the next
    function: str = ""  # a function on the path must have this qualified name
    file: str = ""  # and be defined there
    unmatched: str = ""  # why a hunt never names it: it is listed only

    @property
    def text(self) -> str:
        """Format as one line: "torch <2.12, pytorch/pytorch#183211: what. Advice"."""
        return f"{' '.join((self.library, self.versions)).strip()}, {self.link}: {self.what}. {self.advice}"

    @property
    def imported_as(self) -> str:
        """The name of its module."""
        return self.module or self.library.replace("-", "_")


@functools.cache
def known_leaks() -> tuple[KnownLeak, ...]:
    """Read all known leaks."""
    from importlib import resources  # imported here, like `packaging`, because it is slow and most hunts find nothing

    text = resources.files(__package__).joinpath("known_leaks.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["leak"]
    return tuple(KnownLeak(**{key: of_toml(value) for key, value in row.items()}) for row in rows)


def of_toml(value: Any) -> Any:
    """Convert a list to a tuple."""
    return tuple(value) if isinstance(value, list) else value


def modules_of_libraries() -> dict[str, str]:
    """Return the libraries with known leaks, each with the name of its module."""
    return {leak.library: leak.imported_as for leak in known_leaks()}


def library_of(code: str, case: Case, versions: Mapping[str, str]) -> str:
    """Return the known bug that a diagnosed trace shows, or an empty text."""
    return next((leak.text for leak in known_leaks() if shows(leak, code, case, versions)), "")


def shows(leak: KnownLeak, code: str, case: Case, versions: Mapping[str, str]) -> bool:
    """Whether the trace shows this leak in an affected version."""
    if leak.unmatched or code not in leak.codes or leak.library not in versions:
        return False
    if leak.path and find(leak.path, case.path) is None:
        return False
    if leak.cycle and (not case.cycle or find_around(leak.cycle, case.cycle) is None):
        return False
    steps = (*case.trace.cycle, *case.steps)
    if leak.types and not any(refers(leak, step) for step in steps):
        return False
    if leak.file and not any(is_defined(leak, step) for step in steps):
        return False
    return has_bug(leak, versions[leak.library])


def refers(leak: KnownLeak, step: PathStep) -> bool:
    """Whether an object of the path is of the leak's types, and refers to the next by its attribute."""
    is_one = step.is_a(*leak.types) or step.detail in leak.types
    return is_one and (not leak.attribute or leak.attribute in (*step.attributes, step.variable))


def is_defined(leak: KnownLeak, step: PathStep) -> bool:
    """Whether an object of the path is a function of the leak's file, or the one that the leak names."""
    code = code_in(step.detail)
    return code is not None and code.file == leak.file and leak.function in ("", code.name)


def has_bug(leak: KnownLeak, version: str) -> bool:
    """Whether the version has the bug. Local parts and pre-release marks are ignored."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        release = Version(version).base_version
    except InvalidVersion:
        return False
    return SpecifierSet(leak.versions).contains(release, prereleases=True)


def meets(requirement: str, versions: Mapping[str, str]) -> bool:
    """Whether a requirement such as "torch>=2.10" is met. Raises ValueError if it cannot be parsed."""
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
