"""Format a pattern's sentences without a case, with general words instead of the program's names."""

from __future__ import annotations

import re

WORDS = {
    "holder": "a variable",
    "holder_code": "kept",
    "kept": "a tensor",
    "clearing": "kept.clear()",
    "keeping": "kept = result.detach()",
    "collecting_number": "kept.append(result.item())",
    "collecting_detached": "kept.append(result.detach())",
    "collecting_clone": "kept.append(result.clone())",
    "collecting_copy": "kept.append(result.copy())",
    "bounding": "del kept[:-100]  # after each append",
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
    "node": "a grad node",
    "count": "more and more",
    "most": "without a limit",
    "unseen": "some",
    "storage": "a large storage",
    "cycle": "objects of the program",
}


def without_case(template: str) -> str:
    """Fill a sentence with general words."""
    text = code_without_case(template)
    return text[:1].upper() + text[1:]


def code_without_case(template: str) -> str:
    """Fill lines of code with general names; literal braces stay."""
    return re.sub(r"\{(\w+)\}", lambda found: WORDS.get(found[1], found[0]), template)
