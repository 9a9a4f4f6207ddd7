"""The language in which the table of patterns speaks of traces.

A pattern is a row of items, each for one token: ``list.item tensor.grad_fn``. In an item ``|`` separates alternatives,
``*`` stands for any letters, and a word in braces for one of `CLASSES`. ``+`` behind an item: one or more of it, ``?``:
one or none, ``~``: any number, ``...``: any number of any tokens. ``@`` stands before the reference whose holder grows,
``=tensor`` for the object at the end. A pattern may begin and end anywhere in a way unless ``^`` stands before
it and ``$`` behind. Of a ring it must tell every reference, once around, from wherever it fits.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from gradlife.patterns.tokens import Token

CLASSES = {
    "growing": "list.item|tuple.item|deque.item|set.item|dict.value|dict.key",
    "inside": "list.item|deque.item|set.item|dict.value|dict.key|tuple.item|object.attr|wrapping.*",
    "call": "function.closure|function.default|method.self|partial.*|wrapping.*|function.attr",
    "graph": "node.next|node.saved|node.ctx|tensor.grad_fn|ctx.next|ctx.saved|tensor.base|node.variable",
}


#: Stands before the token whose holder grows; patterns that do not speak of it pass over it.
SITE = "@"


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression that a pattern stands for, over tokens with a space behind each."""
    items = pattern.removeprefix("^").removesuffix("$").split()
    body = "".join(map(item_expression, items))
    return re.compile(
        ("^" if pattern.startswith("^") else r"(?:^|(?<= ))") + body + ("$" if pattern.endswith("$") else "")
    )


def item_expression(item: str) -> str:
    """One item as a regular expression."""
    if item == "...":
        return r"(?:\S+ )*?"
    if item == SITE:
        return "@ "
    for name, meaning in CLASSES.items():
        item = item.replace("{" + name + "}", meaning)
    repeat = item[-1] if item[-1] in "+?~" else ""
    either = "|".join(map(choice_expression, item.removesuffix(repeat).split("|")))
    return f"(?:(?:@ )?(?:{either}) ){repeat.replace('~', '*')}"


def choice_expression(choice: str) -> str:
    """One alternative; an attribute without a name stands for those of the program only."""
    return re.escape(choice).replace(r"\*", r"[^\s]*")


def text_of(tokens: Sequence[Token], site: int | None = None) -> str:
    """Tokens as the text that patterns are matched with."""
    return "".join(f"{'@ ' if number == site else ''}{token} " for number, token in enumerate(tokens))


def find(pattern: str, tokens: Sequence[Token], site: int | None = None) -> range | None:
    """Where in a way a pattern fits: places of tokens. The last such stretch, nearest to what leaks."""
    text = text_of(tokens, site)
    found = None
    for match in compiled(pattern).finditer(text):
        found = range(tokens_in(text[: match.start()]), tokens_in(text[: match.end()]))
    return found


def tokens_in(text: str) -> int:
    """How many tokens a text has, marks left out."""
    return sum(word != SITE for word in text.split())


def find_around(pattern: str, ring: Sequence[Token]) -> int | None:
    """From which token on a pattern tells a whole ring."""
    whole = compiled("^" + pattern + "$")
    return next((i for i in range(len(ring)) if whole.match(text_of([*ring[i:], *ring[:i]]))), None)
