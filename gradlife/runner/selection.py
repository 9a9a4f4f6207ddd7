"""Select scenarios by a word expression: `ctx and not (hook or view)`."""

from __future__ import annotations

import re
from collections.abc import Callable

from gradlife.errors import UsageError
from gradlife.model.story import ScenarioInfo

_TOKEN = re.compile(r"[()]|[^\s()]+")

Selector = Callable[[str], bool]


def selector(expression: str) -> Callable[[ScenarioInfo], bool]:
    """Return a test of scenarios: a word is true if it is in the id, the pattern or an origin, ignoring case."""
    chosen = text_selector(expression)
    return lambda info: chosen(" ".join((info.id, info.pattern or "", *info.origin)).lower())


def text_selector(expression: str) -> Selector:
    """Return a test of lower-case texts: a word is true if the text contains it."""
    tokens = _TOKEN.findall(expression)
    return _Parser(expression, tokens).parse() if tokens else lambda text: True


class _Parser:
    """Recursive descent over `or`, `and`, `not`, parentheses and words."""

    def __init__(self, expression: str, tokens: list[str]) -> None:
        self._expression = expression
        self._tokens = tokens

    def parse(self) -> Selector:
        chosen = self._either()
        if self._tokens:
            raise self._error()
        return chosen

    def _either(self) -> Selector:
        chosen = self._both()
        while self._tokens[:1] == ["or"]:
            del self._tokens[0]
            chosen = _or(chosen, self._both())
        return chosen

    def _both(self) -> Selector:
        chosen = self._one()
        while self._tokens[:1] == ["and"]:
            del self._tokens[0]
            chosen = _and(chosen, self._one())
        return chosen

    def _one(self) -> Selector:
        if not self._tokens:
            raise self._error()
        token = self._tokens.pop(0)
        if token == "not":
            return _not(self._one())
        if token == "(":
            chosen = self._either()
            if self._tokens[:1] != [")"]:
                raise self._error()
            del self._tokens[0]
            return chosen
        if token in (")", "and", "or"):
            raise self._error()
        return lambda text: token.lower() in text

    def _error(self) -> UsageError:
        hint = "write words with and, or, not and parentheses, as in: ctx and not hook"
        return UsageError(f"cannot read the expression {self._expression!r}", hint)


def _or(left: Selector, right: Selector) -> Selector:
    return lambda text: left(text) or right(text)


def _and(left: Selector, right: Selector) -> Selector:
    return lambda text: left(text) and right(text)


def _not(inner: Selector) -> Selector:
    return lambda text: not inner(text)
