"""Reads the language of graphviz as far as gradlife writes it, by its grammar: strings, identifiers, attribute lists."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

TOKEN = re.compile(r'\s+|("(?:[^"\\]|\\.)*"|->|[A-Za-z_][A-Za-z0-9_]*|[{}\[\];,=]|-?[0-9.]+)', re.DOTALL)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass
class Graph:
    """The contents of a file: attributes of nodes, and arrows with theirs."""

    attributes: dict[str, dict[str, str]] = field(default_factory=dict)  # of graph, node, edge
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    arrows: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def labelled(self, label: str) -> str:
        """The one node with this first line."""
        (found,) = [name for name, looks in self.nodes.items() if looks["label"].split("\n")[0] == label]
        return found


def parse(text: str) -> Graph:
    """The graph; ValueError for anything that the grammar forbids."""
    tokens = tokens_of(text)
    expect(tokens, "digraph", None, "{")
    graph = Graph()
    while tokens[0] != "}":
        name = tokens.pop(0)
        if not re.fullmatch(r"\w+", name):
            raise ValueError(f"{name} is no name")
        if tokens[0] == "->":
            tokens.pop(0)
            graph.arrows.append((name, tokens.pop(0), attributes(tokens)))
        elif name in ("graph", "node", "edge"):
            graph.attributes[name] = attributes(tokens)
        else:
            graph.nodes[name] = attributes(tokens)
        expect(tokens, ";")
    expect(tokens, "}")
    if tokens:
        raise ValueError(f"{tokens} after the end")
    return graph


def tokens_of(text: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"{text[at : at + 20]!r} is nothing")
        tokens += [found[1]] if found[1] else []
        at = found.end()
    return tokens


def expect(tokens: list[str], *wanted: str | None) -> None:
    for word in wanted:
        found = tokens.pop(0)
        if word is not None and found != word:
            raise ValueError(f"{found} stands for {word}")


def attributes(tokens: list[str]) -> dict[str, str]:
    expect(tokens, "[")
    found = {}
    while tokens[0] != "]":
        name = tokens.pop(0)
        expect(tokens, "=")
        found[name] = value_of(tokens.pop(0))
        if tokens[0] == ",":
            tokens.pop(0)
    expect(tokens, "]")
    return found


def value_of(token: str) -> str:
    """Return the text of a quoted string: the escape n is a new line, any other the character itself."""
    if not token.startswith('"'):
        return token
    return ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], token[1:-1])
