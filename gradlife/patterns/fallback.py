"""Fill a pattern's placeholders with general words, where no finding supplies names."""

from __future__ import annotations

import re

#: What stands for each placeholder; `wording.py` has a property for each, which says what it is.
WORDS = {
    "holder": "a variable",
    "holder_code": "kept",
    "kept": "a tensor",
    "clearing": "kept.clear()",
    "keeping": "kept = result.detach()",
    "detaching_state": "state = state.detach()",
    "collecting_number": "kept.append(result.item())",
    "collecting_detached": "kept.append(result.detach())",
    "collecting_clone": "kept.append(result.clone())",
    "collecting_copy": "kept.append(result.copy())",
    "bounding": "del kept[:-100]  # after each append",
    "leaving": "tasks.discard",
    "reading": "",
    "emptying": "log.seek(0)\nlog.truncate()",
    "tensor": "tensor",
    "reference": "a reference",
    "what": "the object",
    "result": "result",
    "owner": "the object",
    "owner_code": "metric",
    "attribute": "value",
    "variable": "a variable",
    "function": "a function",
    "frame": "a function",
    "ending": "Let its function return: set a stop event that its loop checks, or put a sentinel into its queue.",
    "catching": "the function that caught it",
    "exception": "an exception",
    "class_": "a class",
    "class_short": "Name",
    "cache": "a cached function",
    "registry": "atexit, weakref.finalize",
    "node": "its grad_fn",
    "count": "more and more",
    "most": "without a limit",
    "unseen": "some",
    "storage": "a large storage",
    "cycle": "objects of the program",
}


def with_general_words(template: str) -> str:
    """Fill a sentence with general words, and capitalize it."""
    text = code_with_general_names(template)
    return text[:1].upper() + text[1:]


def code_with_general_names(template: str) -> str:
    """Fill lines of code with general names; unknown placeholders and other braces stay."""
    return re.sub(r"\{(\w+)\}", lambda found: WORDS.get(found[1], found[0]), template)
