"""A finding as a small scenario file for a bug report: the program's holders in miniature, and a result that they
keep.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gradlife.hunting.findings.reference_cuts import CHAINS
from gradlife.model.hunt import Finding, FindingKind
from gradlife.model.trace import Lifetime, PathStep
from gradlife.patterns.matching.pattern import Case
from gradlife.patterns.wording import step_family

#: The code that makes each container, and the code that adds an item.
EMPTY = {"list": "[]", "deque": "deque()", "set": "set()", "dict": "{}"}
PUT = {"list": "kept.append({})", "deque": "kept.append({})", "set": "kept.add({})", "dict": "kept[number] = {}"}
AROUND = {"list": "[{}]", "tuple": "({},)", "deque": "deque([{}])", "set": "{{{}}}"}

TEMPLATE = '''\
"""{title}, as gradlife found it in a program, in miniature.

{path}
"""

from collections import deque  # noqa: F401  of the program's containers

from gradlife.scenario import Expect, scenario

DONE = "three steps done"


class Holder:
    """Stands for an object of the program."""

    def __init__(self, **names):
        self.__dict__.update(names)


{make}


@scenario(
    title={title!r},
    pattern={code!r},
    expects=[
        Expect("subject", "alive", probe="expiry", stage=DONE{on}, because={path!r}),
        Expect("subject", "held"{on}, because={path!r}),
    ],
)
def {name}(lab):
    """Each step leaves something behind: {path}."""
{body}


@{name}.fixed(
    title="Nothing of a step is kept",
    fix={fix!r},
    expects=[Expect("subject", "del"{on}, because="the step was its last owner")],
)
def {name}_fixed(lab):
    """The same holders, and nothing of a step in them that has its memory."""
{fixed_body}
'''

MAKE = {
    "graph": '''\
def make(lab, weight, is_watched):
    """A result with its graph; of one of them the grad node is watched."""
    result = (weight * lab.tensor()).sum()
    if is_watched:
        lab.watch("subject", result.grad_fn)
    return result''',
    "tensor": '''\
def make(lab, weight, is_watched):
    """A tensor; one of them is watched."""
    result = lab.tensor()
    if is_watched:
        lab.watch("subject", result)
    return result''',
    "object": '''\
def make(lab, weight, is_watched):
    """An object; one of them is watched."""
    result = Holder()
    if is_watched:
        lab.watch("subject", result)
    return result''',
}


class NoScenario(Exception):
    """The reason why a finding cannot be written as a scenario."""


@dataclass(frozen=True)
class Link:
    """One reference of the path, in the program's terms."""

    family: str  # object, list, tuple, deque, set, dict
    name: str = ""  # the attribute's name, or the key as text

    def around(self, value: str) -> str:
        """Wrap the expression of a value in this holder."""
        if self.family == "object":
            return f"Holder({self.name}={value})"
        return f"{{{self.name}: {value}}}" if self.family == "dict" else AROUND[self.family].format(value)


def exported(finding: Finding) -> str:
    """Return the text of the file. Raises NoScenario if only the program itself can make an object on the path."""
    if finding.lifetime is not Lifetime.HELD or not finding.trace.steps:
        raise NoScenario(f"no variable leads to {finding.trace.object}: gradlife explain {finding.code} has its story")
    case = Case(finding.trace, finding.kind, finding.lifetime)
    steps = finding.trace.steps
    graph = next((token.step for token in case.path if str(token) == "tensor.grad_fn"), None)
    head = graph if graph is not None else len(steps) - 1
    site = case.path[case.site].step if case.site is not None and finding.code not in CHAINS else None
    links, grown = links_of(steps[:head], site)
    what = "graph" if case.has_graph else "tensor" if finding.trace.tensor is not None else "object"
    if step_family(steps[head]) not in {"tensor", "object"} and what != "object":
        raise NoScenario(f"what is kept is {finding.trace.object}, inside the graph")
    is_chain = finding.code in CHAINS
    if is_chain and what != "graph":
        raise NoScenario("its chain is none of grad nodes")
    return TEMPLATE.format(
        title=finding.title[:1].upper() + finding.title[1:],
        code=finding.code,
        name=f"{finding.code.lower()}_{finding.fingerprint}".rstrip("_"),
        path=path_text(links),
        make=MAKE[what],
        on=', on="torch-*"' if what == "graph" else "",
        fix="result.detach()" if what == "graph" else "nothing is kept",
        body=body(links, grown, is_chain, "result"),
        fixed_body=body(links, grown, is_chain, "result.detach()" if what == "graph" else "None"),
    )


def links_of(steps: Sequence[PathStep], site: int | None) -> tuple[list[Link], int | None]:
    """Return the references below the path's first variable, and the index of the container that grows."""
    links: list[Link] = []
    grown = None
    for number, step in enumerate(steps):
        if number == 0 and (step.kind == "root" or step.object == "module"):
            continue
        links.append(link_of(step))
        if number == site:
            grown = len(links) - 1
    if grown is not None and links[grown].family not in EMPTY:
        raise NoScenario(f"what grows is a {links[grown].family}")
    return links, grown


def link_of(step: PathStep) -> Link:
    """Convert a step into a reference that a scenario can make. Raises NoScenario if only the program can make it."""
    family = step_family(step)
    name = step.via.removeprefix(".")
    if step.via.startswith(".") and name.isidentifier() and not keyword.iskeyword(name):
        return Link("object", name)
    last = step.hops[-1] if step.hops else None
    if last is not None and last.relation == "dict_value" and family == "dict":
        return Link("dict", last.label if re.fullmatch(r"-?\d+|'[^'\\\n]*'", last.label) else "'key'")
    if last is not None and last.relation in {"item", "member"} and family in AROUND:
        return Link(family)
    raise NoScenario(f"a {step.object} with its {step.via.strip() or step.relation} is made by the program only")


def path_text(links: Sequence[Link]) -> str:
    """Format a path on one line: variable -> .losses -> list."""
    words = (f".{link.name}" if link.family == "object" else link.family for link in links)
    return " -> ".join(["variable", *words, "what a step made"])


def body(links: Sequence[Link], grown: int | None, is_chain: bool, kept: str) -> str:
    """Return the lines of the scenario: holders, three steps, all names deleted."""
    lines = ["weight = lab.tensor(requires_grad=True)"]
    if grown is not None:
        lines += [f"kept = {EMPTY[links[grown].family]}", f"root = {nested(links[:grown], 'kept')}"]
        put = [PUT[links[grown].family].format(nested(links[grown + 1 :], kept))]
    else:
        lines += ["kept = []", "root = Holder(there=lab.tensor())"]
        value = "root.there + " + kept if is_chain else kept
        put = [f"root.there = {value}"] if is_chain else [f"root.there = {nested(links, value)}"]
    is_last = grown is None and not is_chain
    lines += ["lab.hold(root)", "for number in range(3):"]
    steps = [f"result = make(lab, weight, number == {2 if is_last else 0})", *put]
    lines += [f"    {line}" for line in [*steps, "del result"]]
    lines += ["lab.stage(DONE)", "del kept, root", 'lab.stage("names gone", all_names_gone=True)']
    return "\n".join(f"    {line}" for line in lines)


def nested(links: Sequence[Link], value: str) -> str:
    """Wrap a value in holders, the outermost first."""
    for link in reversed(links):
        value = link.around(value)
    return value


def export_first(findings: Sequence[Finding]) -> str:
    """Return the scenario of the worst finding that has one. Raises NoScenario if none has, with the worst one's
    reason.
    """
    reasons = []
    for finding in findings:
        if finding.kind is FindingKind.NEEDS_GC:
            continue
        try:
            return exported(finding)
        except NoScenario as reason:
            reasons.append(f"{finding.code}: {reason}")
    raise NoScenario(reasons[0] if reasons else "nothing leaks")
