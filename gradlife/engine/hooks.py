"""Removable hooks: a handle removes its callable from a dict, and keeps nothing alive."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from gradlife import _engine


class RemovableHandle:
    """Remove one hook. Holds the hook dicts weakly, so that a kept handle keeps no tensor and no graph.

    ``extra_dict`` is a dict, or a list of dicts, with more facts about the hook under the same number.
    """

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extras = [extra_dict] if isinstance(extra_dict, dict) else extra_dict or ()
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras)

    def remove(self) -> None:
        """Remove the hook, if it is still registered."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks_dict = reference()
            if hooks_dict is not None and self.id in hooks_dict:
                del hooks_dict[self.id]

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __getstate__(self) -> Any:
        return self.hooks_dict_ref(), self.id, [extra() for extra in self.extra_dict_ref]

    def __setstate__(self, state: Any) -> None:
        hooks_dict, self.id, extras = state
        self.hooks_dict_ref, *others = (
            weakref.ref(OrderedDict() if each is None else each) for each in (hooks_dict, *extras)
        )
        self.extra_dict_ref = tuple(others)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)


def add_hook(hooks_dict: Any, hook: Callable[..., Any], prepend: bool = False, flags: Any = ()) -> RemovableHandle:
    """Puts ``hook`` into a dict of hooks, and its number into each dict of ``flags``."""
    handle = RemovableHandle(hooks_dict, extra_dict=flags)
    hooks_dict[handle.id] = hook
    for flag in flags:
        flag[handle.id] = True
    if prepend:
        hooks_dict.move_to_end(handle.id, last=False)
    return handle


_engine._register("hooks_helper", add_hook)
