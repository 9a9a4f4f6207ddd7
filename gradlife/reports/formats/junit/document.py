"""JUnit XML as pytest writes it and as Jenkins, GitLab and GitHub actions read it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gradlife.reports.source_places import Place
from gradlife.reports.xml_text import legal

FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"


@dataclass(frozen=True)
class Ending:
    """The end of a case that did not pass. A failure contradicts an expectation; after an error nothing is known."""

    sort: str  # FAILURE, ERROR, SKIPPED
    type: str
    message: str
    text: str = ""


@dataclass(frozen=True)
class Case:
    """A test case."""

    classname: str
    name: str
    seconds: float = 0.0
    ending: Ending | None = None
    output: str = ""
    place: Place | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """Test cases under a name."""

    name: str
    cases: tuple[Case, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    output: str = ""

    def count(self, sort: str) -> int:
        """Count the cases with this ending."""
        return sum(case.ending is not None and case.ending.sort == sort for case in self.cases)

    @property
    def counts(self) -> dict[str, int]:
        """The attributes with the counts of cases."""
        return {
            "tests": len(self.cases),
            "failures": self.count(FAILURE),
            "errors": self.count(ERROR),
            "skipped": self.count(SKIPPED),
        }


def junit_text(name: str, suites: Iterable[Suite], seconds: float | None = None) -> str:
    """Return the document."""
    suites = tuple(suites)
    sums = {key: sum(suite.counts[key] for suite in suites) for key in Suite("", ()).counts}
    root = element(None, "testsuites", name=name, **sums)
    if seconds is not None:
        root.set("time", f"{seconds:.3f}")
    for suite in suites:
        add_suite(root, suite)
    ElementTree.indent(root, " ")
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def add_suite(root: ElementTree.Element, suite: Suite) -> None:
    """Add a test suite."""
    seconds = sum(case.seconds for case in suite.cases)
    node = element(root, "testsuite", name=suite.name, **suite.counts, time=f"{seconds:.3f}")
    add_properties(node, suite.properties)
    for case in suite.cases:
        add_case(node, case)
    if suite.output:
        element(node, "system-out").text = legal(suite.output)


def add_case(node: ElementTree.Element, case: Case) -> None:
    """Add a test case."""
    place = {"file": case.place.relative, "line": case.place.line} if case.place is not None else {}
    found = element(node, "testcase", classname=case.classname, name=case.name, time=f"{case.seconds:.3f}", **place)
    add_properties(found, case.properties)
    if case.ending is not None:
        ending = element(found, case.ending.sort, type=case.ending.type, message=case.ending.message)
        ending.text = legal(case.ending.text) or None
    if case.output:
        element(found, "system-out").text = legal(case.output)


def add_properties(node: ElementTree.Element, properties: Mapping[str, str]) -> None:
    """Add names and values, if there are any."""
    if properties:
        group = element(node, "properties")
        for name, value in properties.items():
            element(group, "property", name=name, value=value)


def element(parent: ElementTree.Element | None, tag: str, **attributes: object) -> ElementTree.Element:
    """Add an element to another one."""
    made = ElementTree.Element(tag, {name: legal(str(value)) for name, value in attributes.items()})
    if parent is not None:
        parent.append(made)
    return made
