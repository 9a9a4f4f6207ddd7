"""The pattern language: regular expressions over the tokens of a trace.

A pattern is a row of items, one per token: ``list.item tensor.grad_fn``. In an item ``|`` separates alternatives, ``*``
matches any letters, and a word in braces is one of `CLASSES`. After an item ``+`` means one or more, ``?`` one or none,
``~`` any number. ``...`` matches any number of any tokens. ``@`` marks the reference whose holder grows, and ``=tensor``
matches the object at the end. A pattern may start and end anywhere in a path, unless it starts with ``^`` or ends with
``$``. It must match a cycle as a whole, from any start.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from gradlife.patterns.matching.path_tokens import Token

CLASSES = {
    "growing": "list.item|tuple.item|deque.item|set.item|dict.value|dict.key|array.item|{named}",
    "named": "object.attr|nn.attr|class.attr|function.attr|tensor.attr|optimizer.attr|thread.attr|module.global",
    "inside": "list.item|deque.item|set.item|dict.value|dict.key|tuple.item|object.attr|wrapping.*",
    "call": "function.closure|function.default|method.self|partial.*|wrapping.*|function.attr",
    "graph": "node.next|node.saved|node.ctx|tensor.grad_fn|ctx.next|ctx.saved|tensor.base|node.variable",
}


#: Marks the token whose holder grows; patterns without it ignore the mark.
SITE = "@"


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern to a regular expression over tokens, each followed by a space."""
    items = pattern.removeprefix("^").removesuffix("$").split()
    body = "".join(map(item_expression, items))
    return re.compile(
        ("^" if pattern.startswith("^") else r"(?:^|(?<= ))") + body + ("$" if pattern.endswith("$") else "")
    )


@functools.cache
def needed_parts(pattern: str) -> Sequence[Sequence[str]]:
    """Return, for each item, alternatives: a text that has none of them cannot match, and needs no expression."""
    items = pattern.removeprefix("^").removesuffix("$").split()
    needed = (item for item in items if item not in {"...", SITE} and item[-1] not in "?~")
    return [[choice.split("*")[0] for choice in with_classes(item).removesuffix("+").split("|")] for item in needed]


def has_needed_parts(pattern: str, text: str) -> bool:
    """Whether a text has a part of each item of a pattern."""
    return all(any(part in text for part in parts) for parts in needed_parts(pattern))


def with_classes(item: str) -> str:
    """Return an item with the alternatives of its classes."""
    for name, meaning in CLASSES.items():
        item = item.replace("{" + name + "}", meaning)
    return item


def item_expression(item: str) -> str:
    """Return one item as a regular expression."""
    if item == "...":
        return r"(?:\S+ )*?"
    if item == SITE:
        return "@ "
    item = with_classes(item)
    repeat = item[-1] if item[-1] in "+?~" else ""
    either = "|".join(map(choice_expression, item.removesuffix(repeat).split("|")))
    return f"(?:(?:@ )?(?:{either}) ){repeat.replace('~', '*')}"


def choice_expression(choice: str) -> str:
    """Return one alternative: its text, in which `*` stands for any part of a token."""
    return re.escape(choice).replace(r"\*", r"[^\s]*")


def text_of(tokens: Sequence[Token], site: int | None = None) -> str:
    """Return tokens as the text that patterns match."""
    return "".join(f"{'@ ' if number == site else ''}{token} " for number, token in enumerate(tokens))


def find(pattern: str, tokens: Sequence[Token], site: int | None = None) -> range | None:
    """Return the range of tokens that a pattern matches: the last match, nearest to the leaked object."""
    text = text_of(tokens, site)
    found = None
    if not has_needed_parts(pattern, text):
        return None
    for match in compiled(pattern).finditer(text):
        found = range(tokens_in(text[: match.start()]), tokens_in(text[: match.end()]))
    return found


def tokens_in(text: str) -> int:
    """Count the tokens of a text, without marks."""
    return sum(word != SITE for word in text.split())


def find_around(pattern: str, cycle: Sequence[Token]) -> int | None:
    """Return the token from which a pattern matches the whole cycle. Cycles may have thousands of tokens."""
    words = [f"{token} " for token in cycle]
    text = "".join(words)
    if not has_needed_parts(pattern, text) or not may_be_around(pattern, words):
        return None
    at, twice, expression = 0, text + text, compiled(pattern)
    last = last_item(pattern)
    for number, word in enumerate(words):
        if last.fullmatch(words[number - 1]) and expression.fullmatch(twice, at, at + len(text)):
            return number
        at += len(word)
    return None


def may_be_around(pattern: str, words: Sequence[str]) -> bool:
    """Whether what is between a leading and a trailing `...` is somewhere in a cycle. Else each start is searched whole."""
    items = pattern.split()
    if len(items) < 3 or {items[0], items[-1]} != {"..."}:
        return True
    expression = compiled(" ".join(items[1:-1]))
    return expression.search("".join(words) * 2) is not None


@functools.cache
def last_item(pattern: str) -> re.Pattern[str]:
    """Compile the last item of a pattern to an expression that the last token of a match fits; any, if it is optional."""
    item = pattern.split()[-1]
    return re.compile(r"\S+ " if item == "..." or item[-1] in "?~" else item_expression(item.removesuffix("+")))
