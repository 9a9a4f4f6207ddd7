"""Text of strangers, made visible: names, notes, source lines and paths may hold anything.

A character that moves a cursor, ends a line, changes text direction or starts an escape sequence is spelt out
(``\\x1b``), and so is the start of a command that a CI runner would obey. All output of gradlife goes through one of
these functions: `visible_lines` for text, `visible_json` for JSON.
"""

from __future__ import annotations

import re

#: Commands of CI runners. GitHub ignores blanks before the first one and reads the others anywhere in a line.
LINE_COMMAND = re.compile(r"(?m)^([^\S\n]*):(?=:[^\n]*::)")
WORD_COMMAND = re.compile(r"#(?=#(?:\[|vso\[|teamcity\[))")

#: Half characters, which is how Python reads a name that is not UTF-8.
HALVES = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """Return the text as part of one line: what cannot be printed is spelt out, line ends too. Cost: one pass."""
    return text if text.isprintable() else "".join(one if one.isprintable() else spelt(one) for one in text)


def visible_lines(text: str) -> str:
    """Return whole lines of output: only line ends and tabs stay, and no line is a command to a CI runner."""
    return without_commands(without_controls(text))


def without_controls(text: str) -> str:
    """Return lines in which everything is visible but line ends and tabs."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else spelt(one) for one in text)


def without_commands(text: str) -> str:
    """Return lines that a CI runner shows and does not obey."""
    if "##" in text:
        text = WORD_COMMAND.sub(r"\\x23", text)
    return LINE_COMMAND.sub(r"\1\\x3a", text) if "::" in text else text


def visible_json(text: str) -> str:
    """Return a JSON document with the same values: what cannot be printed is escaped in JSON's own way.

    A half character becomes a `?`, because no UTF-8 has it.
    """
    text = HALVES.sub("?", text)
    if not text.replace("\n", "").isprintable():
        text = "".join(one if one.isprintable() or one == "\n" else json_escape(one) for one in text)
    return WORD_COMMAND.sub(r"\\u0023", text) if "##" in text else text


def spelt(character: str) -> str:
    """Return the escape of a character as Python writes it."""
    return character.encode("unicode_escape").decode("ascii")


def json_escape(character: str) -> str:
    """Return the escape of a character as JSON writes it: two halves beyond the first 65,536."""
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
