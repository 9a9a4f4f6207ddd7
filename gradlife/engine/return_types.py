"""Results of several named tensors: ``x.max(0).indices``."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from gradlife import _engine


class _NamedResult(tuple[Any, ...]):
    """A named tuple, whose class is called like its operation."""

    __slots__ = ()
    _names: tuple[str, ...] = ()

    def __new__(cls, values: Iterable[Any]) -> _NamedResult:
        made = super().__new__(cls, values)
        if len(made) != len(cls._names):
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {len(cls._names)}-sequence ({len(made)}-sequence given)"
            )
        return made

    def __repr__(self) -> str:
        fields = (f"{name}={value!r}" for name, value in zip(self._names, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(fields) + ")"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


def _named(kind: str, *names: str) -> type[Any]:
    places = {name: property(operator.itemgetter(place)) for place, name in enumerate(names)}
    counts = {"n_fields": len(names), "n_sequence_fields": len(names), "n_unnamed_fields": 0}
    body = {"__slots__": (), "_names": names, "__match_args__": names, "__module__": __name__, **places, **counts}
    return type(kind, (_NamedResult,), body)


max = _named("max", "values", "indices")

_KINDS = {kind.__name__: kind for kind in _NamedResult.__subclasses__()}


def _result(kind: str, values: tuple[Any, ...]) -> _NamedResult:
    return _KINDS[kind](values)


_engine._register("named_result", _result)
