"""The methods that put something into a container, of Python's own containers and of queues."""

from __future__ import annotations

#: Methods of queues that put one item into it.
PUTTING = frozenset({"put", "put_nowait"})

#: Methods that put one item into a container, and the position of the item among their arguments.
ITEM_AT = {"append": 0, "appendleft": 0, "add": 0, **dict.fromkeys(PUTTING, 0), "insert": 1, "setdefault": 1}

#: Those whose only argument is the item, and those of them that lists, deques and sets have.
ADDING = frozenset(method for method, position in ITEM_AT.items() if position == 0)
APPENDING = ADDING - PUTTING

#: Methods that put the items of another container into one.
EXTENDING = frozenset({"extend", "extendleft", "update"})

#: Methods after which the container keeps an argument, or what is in it.
KEEPING = EXTENDING.union(ITEM_AT)
