"""Check whether a trace has the labelled names: attributes, keys, variables, in order."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

#: A label's entry in access syntax: `.handler (MemoryHandler)`, `f_locals['image']`, `[i]`.
ACCESS = re.compile(r"(?:\.[A-Za-z_]\w*|f_locals(?=\[)|\[[^\]]*\])+")
PART = re.compile(r"\.([A-Za-z_]\w*)|\['([^']*)'\]|\[\"([^\"]*)\"\]")
#: Python's tables of variables and attributes; a trace names the variable or attribute instead.
STRUCTURE = {"__dict__", "__closure__", "cell_contents", "f_locals"}
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
#: Entries that name an object: the name is in brackets.
FORMS = (
    re.compile(r"(?:state)$"),
    re.compile(r"module global ([A-Za-z_]\w*)"),
    re.compile(r"(?:class|type) '?([A-Za-z_]\w*)'?"),
    re.compile(r"function ([A-Za-z_]\w*)"),
    re.compile(r"(?:\w+ )?frame of ([A-Za-z_]\w*)"),
    re.compile(r"cell '([A-Za-z_]\w*)'"),
)
#: `Tensor mask`: a variable if a closure holds it; elsewhere only the author's name for it.
KIND_AND_NAME = re.compile(r"[A-Za-z]\w* ([A-Za-z_]\w*)$")

Alternatives = frozenset[str]


def expected_names(path: Sequence[str]) -> list[Alternatives]:
    """Return the names that a trace must have, in order, each with alternatives.

    Prose ("saved activations"), indices and types of objects require nothing. If no Python object refers to a survivor
    there is no name to report.
    """
    if path and path[0].startswith("(no Python referrer"):
        return []
    names: list[Alternatives] = []
    for number, entry in enumerate(path):
        before = path[number - 1] if number else ""
        names += names_in(entry.partition(";")[0].strip(), before.startswith(".__closure__"))
        if ";" in entry:  # another path begins here
            break
    return names


def names_in(entry: str, is_in_closure: bool) -> list[Alternatives]:
    """Return the names of one entry."""
    names = [name.strip() for name in entry.split(" / ")]
    if len(names) > 1:
        either = frozenset(name for text in names for name in IDENTIFIER.findall(text) if not name[0].isupper())
        return [either] if either and names[0].startswith((".", "[")) else []
    access = ACCESS.match(entry)
    if access is not None:
        found = ["".join(groups) for groups in PART.findall(access.group())]
        cell = re.search(r"\(cell '([A-Za-z_]\w*)'\)", entry)
        names = [name for name in found if name and name not in STRUCTURE] + ([cell[1]] if cell else [])
        return [frozenset({name}) for name in names]
    name = named_in(entry.partition(" (")[0], is_in_closure)
    return [frozenset({name})] if name else []


def named_in(entry: str, is_in_closure: bool) -> str:
    """Return an object's name, if the entry has one."""
    for form in FORMS:
        found = form.match(entry)
        if found is not None:
            return found[1] if form.groups else found[0]
    variable = KIND_AND_NAME.match(entry) if is_in_closure else None
    return variable[1] if variable is not None else ""


def trace_words(trace: dict[str, Any]) -> list[str]:
    """Return the words of a trace in order; a cycle twice, because a label may start anywhere in it."""
    steps, cycle = list(trace.get("steps") or ()), list(trace.get("cycle") or ())
    rows = steps + cycle + cycle + list(trace.get("tail") or ())
    words = [word for row in rows for word in step_words(row)]
    words += re.findall(r"\w+", f"{trace.get('object', '')} {trace.get('label', '')}")
    grad_fn = str((trace.get("tensor") or {}).get("grad_fn") or "")
    return words + (["grad_fn", grad_fn] if grad_fn else [])


def step_words(step: dict[str, Any]) -> Iterable[str]:
    """Yield the words of one step: its object, then its reference."""
    via = str(step.get("via", ""))
    keys = re.findall(r"\['([^']+)'\]|'([^']+)'", via)
    text = f"{step.get('object', '')} {step.get('label', '')} {via}"
    hops = [word for hop in step.get("hops") or () for word in re.findall(r"\w+", str(hop.get("label", "")))]
    return [*re.findall(r"\w+", text), *("".join(pair) for pair in keys), *hops]


def missing(path: Sequence[str], trace: dict[str, Any]) -> list[str]:
    """Return the labelled names that a trace lacks, or has in another order."""
    return lacking_words(expected_names(path), trace)


def lacking_words(names: Iterable[Collection[str]], trace: dict[str, Any]) -> list[str]:
    """Return the names that a trace lacks; a missing one does not end the search for the next.

    An attribute is also recognized by its property: `_owning_module` by `owning_module`.
    """
    words = trace_words(trace)
    lacking: list[str] = []
    at = 0
    for alternatives in names:
        places = [
            number
            for number in range(at, len(words))
            if words[number] in alternatives or words[number].lstrip("_") in alternatives
        ]
        if places:
            at = places[0] + 1
        else:
            lacking.append("|".join(sorted(alternatives)))
    return lacking
