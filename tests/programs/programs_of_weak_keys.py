"""Small programs of dictionaries that go by identity and hold their keys weakly."""

from __future__ import annotations

import copy
import importlib
import weakref
from typing import Any

from programs_tools import Mark, attempt, fates, programs_in, vector, watch


def weak(framework: Any) -> Any:
    return importlib.import_module(framework.__name__ + ".utils.weak")


def entries_go_with_their_keys(fw: Any) -> Any:
    keys = [fw.ones(2), fw.ones(2), Mark()]
    table = weak(fw).WeakIdKeyDictionary({key: i for i, key in enumerate(keys)})
    sizes = [len(table), [table[key] for key in keys]]
    del keys[0]
    return [*sizes, len(table), list(table.values()), keys[0] in table, fw.ones(2) in table, 3 in table]


def a_key_that_only_the_engine_holds(fw: Any) -> Any:
    table, x = weak(fw).WeakTensorKeyDictionary(), vector(fw)
    (x * 2).sum().backward()
    table[x.grad] = 1
    sizes = [len(table)]
    x.grad = None
    return [*sizes, len(table)]


def every_method(fw: Any) -> Any:
    table = weak(fw).WeakIdKeyDictionary()
    first, second, third = fw.ones(1), fw.zeros(1), fw.ones(1)
    seen = [table.setdefault(first, 1), table.setdefault(first, 2), table.get(second), table.pop(second, 5)]
    table.update([(second, 2)])
    table |= {third: 3}
    seen += [len(table), [v for _, v in table.items()], (table | {first: 7})[first], ({first: 7} | table)[first]]
    seen += [attempt(lambda: table[fw.ones(1)]).split(":")[0], attempt(lambda: table.pop(3)).split(":")[0]]
    other = table.copy()
    del table[first]
    seen += [len(other), other == table, table == {second: 2, third: 3}, table.popitem()[1], len(copy.deepcopy(other))]
    seen += [len(table.keyrefs()), [key is second for key in table], type(other).__name__, attempt(lambda: hash(table))]
    table.clear()
    return [*seen, len(table), repr(table).split(" at ")[0]]


def references_by_identity(fw: Any) -> Any:
    ref, x, y = weak(fw).WeakIdRef, fw.ones(2), fw.ones(2)
    first, same, other = ref(x), ref(x), ref(y)
    seen = [first == same, first == other, hash(first) == id(x), first() is x]
    del x
    return [*seen, first() is None, first == same, first == first]


def values_that_hold_their_keys(fw: Any) -> Any:
    def build() -> list[Any]:
        table, key = weak(fw).WeakIdKeyDictionary(), fw.ones(1)
        table[key] = [key]
        return [weakref.ref(table), *watch(key)]

    return fates(build)


def a_table_that_is_dropped_first(fw: Any) -> Any:
    key = fw.ones(1)

    def build() -> list[Any]:
        table = weak(fw).WeakIdKeyDictionary({key: Mark()})
        return [weakref.ref(table), weakref.ref(table[key])]

    return fates(build)


PROGRAMS = programs_in(globals())
