"""Python code and diffs of it as coloured markup."""

from __future__ import annotations

from markupsafe import Markup

from gradlife.reports.coloured_code import PARTS

#: The CSS class of a line of a diff, by its first character.
CHANGES = {"-": "gone", "+": "new"}


def code_markup(code: str) -> Markup:
    """Format Python code, or a change to it, for a `pre` element."""
    text = code.strip("\n").expandtabs(4)
    return difference(text) if is_difference(text) else coloured(text)


def is_difference(text: str) -> bool:
    """Whether some lines begin with + or -, and all others with a blank."""
    lines = [line for line in text.splitlines() if line]
    return any(line[0] in CHANGES for line in lines) and all(line[0] in "+- ." for line in lines)


def difference(text: str) -> Markup:
    """Return each line as a block in the class of its sign."""
    return Markup("").join(
        Markup('<span class="line {}">{}</span>').format(CHANGES.get(line[:1], "same"), line)
        for line in text.splitlines()
    )


def coloured(text: str) -> Markup:
    """Wrap strings, comments, keywords and numbers in their classes."""
    made, at = Markup(""), 0
    for found in PARTS.finditer(text):
        made += text[at : found.start()]
        made += Markup('<span class="code-{}">{}</span>').format(found.lastgroup, found.group())
        at = found.end()
    return made + text[at:]
