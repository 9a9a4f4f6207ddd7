"""The page of a code as Markdown, out of its pattern, its stories and what each release did in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from code_examples import Example
from code_history import Told

from gradlife.patterns import FAMILIES, SENTENCES, family, patterns_of, sentence
from gradlife.patterns.generic import code_without_case, without_case
from gradlife.patterns.library import known_leaks
from gradlife.patterns.pattern import Pattern
from gradlife.reports.source_diff import body_lines, source_diff
from gradlife.runner.discover import Story

#: Stories of one code that are told in full; the others are named.
IN_FULL = 2

ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")


@dataclass(frozen=True)
class Sources:
    """What pages are made of."""

    stories: Sequence[Story]
    told: Mapping[str, tuple[Told, ...]]
    examples: Mapping[str, Sequence[Example]]

    def leaking(self, code: str) -> list[Story]:
        """The stories of a code, those with a repaired twin first; of one told in several contexts the first."""
        found: dict[str, Story] = {}
        for one in self.stories:
            if one.info.pattern == code and not one.info.fixed_of:
                found.setdefault(one.info.family, one)
        return sorted(found.values(), key=lambda one: (not self.twins(one), bool(one.info.context)))

    def twins(self, story: Story) -> list[Story]:
        """The repaired forms of a story."""
        return [one for one in self.stories if one.info.fixed_of == story.info.name and one.path == story.path]


def index_text() -> str:
    """The list of all codes, by family."""
    lines = [
        "# All codes",
        "",
        "What `gradlife explain GLnnn` tells in the terminal, with the programs that show it.",
        "",
    ]
    for digit in sorted(FAMILIES):
        codes = [code for code in SENTENCES if code[2] == str(digit)]
        if codes:
            name, told = FAMILIES[digit]
            lines += [
                f"## GL{digit}xx: {name}",
                "",
                f"{told[:1].upper()}{told[1:]}.",
                "",
                "| code | what it is |",
                "|---|---|",
            ]
            lines += [f"| [{code}]({code}.md) | {cell(sentence(code))} |" for code in codes]
            lines += ["", "```{toctree}", ":hidden:", *codes, "```", ""]
    return "\n".join(lines)


def page_text(code: str, sources: Sources) -> str:
    """The page of one code."""
    return "\n".join(parts(code, sources)) + "\n"


def parts(code: str, sources: Sources) -> Iterator[str]:
    """The head, each look of the leak, programs, releases, known bugs."""
    name, told = family(code)
    rows = patterns_of(code)
    yield f"# {code}: {rows[0].title if rows else sentence(code).rstrip('.')}\n"
    yield f"{prose(sentence(code))}\n"
    yield f"*{code[:3]}xx, {name}: {prose(told)}.*\n"
    for row in rows:
        yield from look(row, is_only=len(rows) == 1)
    stories = sources.leaking(code)
    yield from programs(code, stories, sources)
    yield from releases(stories[:IN_FULL], sources)
    yield from further(stories[IN_FULL:])
    yield from bugs(code)
    yield "## In the terminal\n"
    yield f"```console\n$ gradlife explain {code}\n```"


def look(row: Pattern, is_only: bool) -> Iterator[str]:
    """One look of the leak: why it is one, its trace, what to do."""
    yield f"## {'What it is' if is_only else row.title[:1].upper() + row.title[1:]}\n"
    yield f"{prose(without_case(row.reason))}\n"
    if row.example:
        yield f"How its trace looks:\n\n```text\n{row.example}\n```\n"
    yield f"**What to do.** {prose(without_case(row.advice))}\n"
    if row.fix:
        yield f"```python\n{code_without_case(row.fix)}\n```\n"
    if row.links:
        yield "See " + ", ".join(map(linked, row.links)) + ".\n"


def programs(code: str, stories: Sequence[Story], sources: Sources) -> Iterator[str]:
    """Code that leaks, and its repair: of stories, or else of the tests."""
    for story in stories[:IN_FULL]:
        yield from program(story, sources.twins(story))
    for example in [] if stories else sources.examples.get(code, ())[:1]:
        yield "## A program that leaks\n"
        yield "`hold` is a place that lives on; what is returned should be gone, and is not.\n"
        yield f"```python\n{example.source}\n```\n"


def program(story: Story, twins: Sequence[Story]) -> Iterator[str]:
    """A story in full: its text, its source, and what each repaired twin does otherwise."""
    leaking = body_lines(str(story.path), story.info.family)
    yield f"## The story `{story.info.family}`\n"
    yield f"*{prose(story.info.title)}*\n"
    yield f"{prose(story.info.story)}\n"
    yield "```python\n" + "\n".join(leaking) + "\n```\n"
    if story.info.origin:
        yield "Where it comes from: " + ", ".join(map(linked, story.info.origin)) + ".\n"
    for twin in twins:
        yield f"**The fix: {prose(twin.info.fix or twin.info.title)}** (`{twin.info.name}`)\n"
        changed = source_diff(leaking, body_lines(str(twin.path), twin.info.name))
        if changed:
            yield "```diff\n" + "\n".join(changed) + "\n```\n"


def releases(stories: Sequence[Story], sources: Sources) -> Iterator[str]:
    """Since which release: the verdicts in each recording."""
    rows = [(f"`{story.info.family}`", one) for story in stories for one in sources.told.get(story.info.id, ())]
    if not rows:
        return
    yield "## Since which release\n"
    yield "What each release did, as recorded on it: `del` is freed at once, `gc` by the collector only, `never` is lost.\n"
    yield "| release | " + " | ".join(f"{name}: {cell(one.subject)}" for name, one in rows) + " |"
    yield "|---|" + "---|" * len(rows)
    for number, (release, _) in enumerate(rows[0][1].verdicts):
        words = (one.verdicts[number][1].replace("inconclusive", "?") for _, one in rows)
        yield f"| {release} | " + " | ".join(words) + " |"
    yield "\n`?`: the release gives no way to see it. `-`: there is no such reading.\n"
    changes = dict.fromkeys(change for _, one in rows for change in one.changes)
    yield from (f"- {prose(change)}" for change in changes)
    yield ""


def further(stories: Sequence[Story]) -> Iterator[str]:
    """The other stories, each in a line."""
    if stories:
        yield "## Further stories\n"
        yield from (f"- `{one.info.family}`: {prose(one.info.title)}" for one in stories)
        yield ""


def bugs(code: str) -> Iterator[str]:
    """Libraries that are known to have this leak."""
    known = [leak for leak in known_leaks() if code in leak.codes]
    if known:
        yield "## Known bugs of libraries\n"
        yield from (f"- {leak.library} `{leak.versions}`, {linked(leak.link)}: {prose(leak.what)}" for leak in known)
        yield ""


def prose(text: str) -> str:
    """Words of a docstring as they stand, for they are no markup; what stands in backticks stays code."""
    pieces = re.split(r"(`[^`]+`)", text)
    done = (
        piece if number % 2 else re.sub(r"([\\*_<>\[\]#|~$])", r"\\\1", piece) for number, piece in enumerate(pieces)
    )
    return ISSUE.sub(lambda found: linked(found[0]), "".join(done).replace("\\#", "#"))


def linked(origin: str) -> str:
    """An issue, or an address, as a link."""
    issue = ISSUE.fullmatch(origin)
    if issue:
        return f"[{origin}](https://github.com/{issue[1]}/issues/{issue[2]})"
    return f"<{origin}>" if origin.startswith("https://") else prose_without_links(origin)


def prose_without_links(text: str) -> str:
    """The same of a text that names no issue."""
    return re.sub(r"([\\*_<>\[\]|~$])", r"\\\1", text)


def cell(text: str) -> str:
    """A text in a table."""
    return prose(text).replace("\n", " ")
