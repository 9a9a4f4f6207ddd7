"""The patterns that stories are told about: a family a hundred codes, and a sentence for each code that has one."""

from __future__ import annotations

import re

FAMILIES = {
    1: ("function and ctx ownership", "a custom Function, its ctx and its grad node hold one another"),
    2: ("wrapper identity", "a Python object stands for a C++ one, and may be lost, made anew, or held by it"),
    3: ("saved tensors and hooks", "what a grad node saves for backward, and the callables around it"),
    4: ("graphs kept by training code", "a loss, an activation or retain_graph keeps a whole graph"),
    5: ("Python holders", "a cache, an exception, a closure, a global or a thread keeps an object"),
    6: ("modules and optimizers", "a module or an optimizer keeps more than its parameters and its state"),
    7: ("views and storages", "a small tensor keeps a large storage"),
    8: ("native references", "C++ code holds a Python object that nothing in Python shows"),
    9: ("devices and processes", "memory that another device or process holds"),
}

SENTENCES = {
    "GL101": "ctx keeps an output of its own Function, so output, grad node and ctx hold one another.",
    "GL102": "ctx keeps a result computed after its node, which leads back to the node through the graph.",
    "GL103": "An attribute of ctx lives as long as its node: backward releases saved tensors, not attributes.",
    "GL104": "A saved view of an output owns the output as its base, so the node holds what leads back to it.",
    "GL105": "A kept grad_fn keeps, or no longer keeps, the node and what it saved.",
    "GL106": "The graph is cut or a gradient lost because a node died while something still led to it.",
    "GL107": "setup_context's return value is dropped without being released.",
    "GL109": "ctx is part of a cycle of plain Python objects, which only the cyclic collector frees.",
    "GL110": "At interpreter exit what C++ holds is left alone on purpose: no __del__ runs.",
    "GL201": "What was attached to a wrapper is there later only if the very wrapper is kept or found again.",
    "GL202": "A wrapper that C++ owned outlives its tensor and is left empty.",
    "GL203": "An attribute of a tensor leads, through C++, back to the tensor: a cycle the collector cannot follow.",
    "GL204": "A tensor is in a cycle of its own wrapper; whether the collector sees it depends on who else owns it.",
    "GL205": "The grad accumulator of a leaf holds the leaf, and what is noted on it lives as long.",
    "GL206": "Which tensors the collector knows of depends on which ones have a wrapper.",
    "GL301": "Operations that save their own output and are never sent through backward.",
    "GL302": "A saved tensor was changed in place; only changes that the version counter sees are reported.",
    "GL303": "A handle to a saved slot or a tensor read from one does not behave as the tensor that was saved.",
    "GL311": "Each saved slot owns its pack and unpack hooks and what was packed, until it is released.",
    "GL312": "A pack hook that raises or changes its argument leaves the saved slot broken.",
    "GL352": "A hook runs while the ctx that it reads is being taken apart.",
    "GL401": "retain_graph=True keeps every saved activation until the last name of the graph goes.",
    "GL502": "A kept exception keeps the frames of its traceback, and their locals.",
}


def is_code(text: str) -> bool:
    """Is this the code of a pattern?"""
    return re.fullmatch(r"GL\d{3}", text, re.IGNORECASE) is not None


def family(code: str) -> tuple[str, str]:
    """The family of a code: its name, and a sentence."""
    return FAMILIES.get(int(code[2]), ("no family", "no pattern is known under this number"))


def sentence(code: str) -> str:
    """What a pattern is, in one sentence; that of its family where it has none of its own."""
    name, told = family(code)
    return SENTENCES.get(code, f"{name[0].upper()}{name[1:]}: {told}.")
