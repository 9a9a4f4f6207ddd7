"""Fold several references of the interpreter into the one that a user wrote.

``model.layer`` is two references in memory, from the object to its dict and from the dict to the value; a closure variable
is three. Reports show one step for each.
"""

from __future__ import annotations

from collections.abc import Callable

from gradlife.heap.graph import GAP
from gradlife.heap.internal_steps import FRAMEWORK_FOLDS
from gradlife.heap.ownership_links import Fold, Links, follows, words
from gradlife.heap.torch_layout.labels import CACHED_ARGUMENTS, ITS_IMPL, THREAD_DICTS

QUOTE = "'"


def fold(links: Links, at: int) -> Fold:
    """Return how many references from `at` on form one step, and the words for it."""
    for attempt in FOLDS:
        found = attempt(links, at)
        if found is not None:
            return found
    return 1, words(links[at])


def fold_dict_of_names(links: Links, at: int) -> Fold | None:
    """A module's globals, a function's, an instance's attributes: object -> dict -> value."""
    link = links[at]
    if not follows(links, at + 1, "dict_value") or link.label not in {"__dict__", "__globals__"}:
        return None
    name = links[at + 1].label.strip("'")
    if link.type == "module" or link.label == "__globals__":
        return 2, f"global variable '{name}'"
    return 2, f".{name}"


def fold_interpreter_dict(links: Links, at: int) -> Fold | None:
    """interpreter -> a module dict that it keeps itself -> value."""
    if (
        links[at].kind != "root"
        or links[at].label not in {"sys", "builtins"}
        or not follows(links, at + 1, "dict_value")
    ):
        return None
    return 2, f"global variable {links[at + 1].label} of module {links[at].label}"


def fold_frame_dict(links: Links, at: int) -> Fold | None:
    """frame -> the dict of variables of a module or class body -> value."""
    if links[at].label != "f_locals" or not follows(links, at + 1, "dict_value"):
        return None
    kind = "global" if links[at].detail.startswith("<module>") else "local"
    return 2, f"{kind} variable {links[at + 1].label}"


def fold_closure(links: Links, at: int) -> Fold | None:
    """function -> tuple of cells -> cell -> value."""
    if not links[at].label.startswith("__closure__:") or not follows(links, at + 1, "item", "cell"):
        return None
    return 3, f"closure variable '{name_at(links[at].label, links[at + 1].index)}'"


def fold_default(links: Links, at: int) -> Fold | None:
    """function -> tuple of defaults -> value."""
    if not links[at].label.startswith("__defaults__:") or not follows(links, at + 1, "item"):
        return None
    return 2, f"default argument '{name_at(links[at].label, links[at + 1].index)}'"


def fold_wrapper(links: Links, at: int) -> Fold | None:
    """wrapper -> its C++ object -> a referent of that."""
    if links[at].label != ITS_IMPL or at + 1 >= len(links):
        return None
    taken, via = fold(links, at + 1)
    return 1 + taken, via


def fold_keyword_default(links: Links, at: int) -> Fold | None:
    """function -> dict of defaults -> value."""
    if links[at].label != "__kwdefaults__" or not follows(links, at + 1, "dict_value"):
        return None
    return 2, f"default argument {links[at + 1].label}"


def fold_cell_variable(links: Links, at: int) -> Fold | None:
    """frame -> cell -> value: a variable that functions close over."""
    return (2, words(links[at])) if links[at].relation == "local" and follows(links, at + 1, "cell") else None


def fold_traceback(links: Links, at: int) -> Fold | None:
    """exception -> traceback of each caller -> frame, shown as ``.__traceback__``."""
    end = at + (links[at].label == "__traceback__")
    while end < len(links) and (links[end].label == "tb_next" or (end > at and links[end].kind == GAP)):
        end += 1
    if end == at or end >= len(links) or links[end].label != "tb_frame":
        return None
    return end + 1 - at, f".{links[at].label}" if links[at].label == "__traceback__" else ".tb_frame"


def fold_context(links: Links, at: int) -> Fold | None:
    """thread -> context -> nodes of a tree -> value."""
    end = at + (links[at].label == "context")
    first = end
    while end < len(links) and links[end].label == "variables":
        end += 1
    if end == first or end >= len(links) or not links[end].label.startswith("contextvar "):
        return None
    return end + 1 - at, links[end].label


def fold_thread_local(links: Links, at: int) -> Fold | None:
    """thread-local object -> dicts -> the dict of one thread -> value."""
    if links[at].label != THREAD_DICTS or not follows(links, at + 1, "dict_value", "dict_value"):
        return None
    return 3, f".{links[at + 2].label.strip(QUOTE)}"


def fold_buffer(links: Links, at: int) -> Fold | None:
    """memoryview -> the buffer that memoryviews share -> the owner of the memory."""
    return (2, ".obj") if [link.label for link in links[at : at + 2]] == ["obj", "obj"] else None


def fold_cached_arguments(links: Links, at: int) -> Fold | None:
    """lru_cache -> key -> argument, or -> dict -> key -> argument if unbounded."""
    is_cache = links[at].label == "cache" and links[at].type == "functools._lru_cache_wrapper"
    if is_cache and follows(links, at + 1, "dict_value"):
        return 2, "a cached result"
    key = at + (is_cache and follows(links, at + 1, "dict_key"))
    if key == at and links[at].label != CACHED_ARGUMENTS:
        return None
    return (key + 2 - at, "an argument of a cached call") if follows(links, key + 1, "item") else None


def fold_queued_items(links: Links, at: int) -> Fold | None:
    """SimpleQueue -> list -> item."""
    is_queue = links[at].label == "items" and links[at].type == "_queue.SimpleQueue"
    return (2, words(links[at + 1])) if is_queue and follows(links, at + 1, "item") else None


def fold_call_argument(links: Links, at: int) -> Fold | None:
    """thread -> tuple of arguments -> value, named after the parameter."""
    function, name = parameter_at(links, at)
    return (1, f"{words(links[at])} (argument '{name}' of {function}())") if name else None


def parameter_at(links: Links, at: int) -> tuple[str, str]:
    """Return the function that waits to be called, and its parameter for an item of its arguments; empty if there is none."""
    if at == 0 or not links[at - 1].call or links[at].relation != "item":
        return "", ""
    function, _, names = links[at - 1].call.removesuffix(")").partition("(")
    parameters = names.split(",") if names else []
    rest = parameters[-1] if parameters and parameters[-1].startswith("*") else ""
    named = [name for name in parameters if name != rest]
    index = links[at].index
    return function, named[index] if 0 <= index < len(named) else rest


FOLDS: tuple[Callable[[Links, int], Fold | None], ...] = (
    *FRAMEWORK_FOLDS,
    fold_call_argument,
    fold_dict_of_names,
    fold_interpreter_dict,
    fold_frame_dict,
    fold_closure,
    fold_default,
    fold_keyword_default,
    fold_cell_variable,
    fold_traceback,
    fold_context,
    fold_thread_local,
    fold_buffer,
    fold_cached_arguments,
    fold_queued_items,
    fold_wrapper,
)


def name_at(label: str, index: int) -> str:
    """Return the name of one tuple item, given a label that lists the names of all."""
    names = label.partition(":")[2].split(",")
    return names[index] if 0 <= index < len(names) else str(index)
