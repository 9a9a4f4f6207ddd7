"""The page of a code as Markdown, from its pattern, its stories and their recorded verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from code_examples import Example
from code_history import Verdicts

from gradlife.patterns import FAMILIES, SENTENCES, family, patterns_of, sentence
from gradlife.patterns.fallback import code_with_general_names, with_general_words
from gradlife.patterns.known_leaks import KnownLeak, known_leaks
from gradlife.patterns.matching.pattern import Pattern
from gradlife.reports.known_leaks import checked
from gradlife.reports.source_diff import body_lines, source_diff
from gradlife.runner.discover import Story

#: The number of stories per code that are shown in full; the others are listed.
IN_FULL = 2

ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")


@dataclass(frozen=True)
class Sources:
    """The input of the pages."""

    stories: Sequence[Story]
    verdicts: Mapping[str, tuple[Verdicts, ...]]
    examples: Mapping[str, Sequence[Example]]

    def leaking(self, code: str) -> list[Story]:
        """Return the stories of a code, those with a fixed twin first, each in its first context."""
        found: dict[str, Story] = {}
        for one in self.stories:
            if one.info.pattern == code and not one.info.fixed_of:
                found.setdefault(one.info.family, one)
        return sorted(found.values(), key=lambda one: (not self.twins(one), bool(one.info.context)))

    def twins(self, story: Story) -> list[Story]:
        """Return the fixed forms of a story."""
        return [one for one in self.stories if one.info.fixed_of == story.info.name and one.path == story.path]


def index_text() -> str:
    """Return the index of all codes, by family."""
    lines = [
        "# All codes",
        "",
        "The pages of `gradlife explain GLnnn`, with programs that show each leak.",
        "",
    ]
    for digit in sorted(FAMILIES):
        codes = [code for code in SENTENCES if code[2] == str(digit)]
        if codes:
            name, about = FAMILIES[digit]
            lines += [
                f"## GL{digit}xx: {name}",
                "",
                f"{about[:1].upper()}{about[1:]}.",
                "",
                "| code | what it is |",
                "|---|---|",
            ]
            lines += [f"| [{code}]({code}.md) | {cell(sentence(code))} |" for code in codes]
            lines += ["", "```{toctree}", ":hidden:", *codes, "```", ""]
    lines += ["[Known leaks of libraries](known.md)", "", "```{toctree}", ":hidden:", "known", "```", ""]
    return "\n".join(lines)


def page_text(code: str, sources: Sources) -> str:
    """Return the page of one code."""
    return "\n".join(parts(code, sources)) + "\n"


def parts(code: str, sources: Sources) -> Iterator[str]:
    """Yield the title, each pattern of the code, programs, releases and known bugs."""
    name, about = family(code)
    rows = patterns_of(code)
    yield f"# {code}: {rows[0].title if rows else sentence(code).rstrip('.')}\n"
    yield f"{prose(sentence(code))}\n"
    yield f"*{code[:3]}xx, {name}: {prose(about)}.*\n"
    for row in rows:
        yield from pattern_section(row, is_only=len(rows) == 1)
    stories = sources.leaking(code)
    yield from programs(code, stories, sources)
    yield from releases(stories[:IN_FULL], sources)
    yield from further(stories[IN_FULL:])
    yield from bugs(code)
    yield "## In the terminal\n"
    yield f"```console\n$ gradlife explain {code}\n```"


def pattern_section(row: Pattern, is_only: bool) -> Iterator[str]:
    """Yield one pattern: why it leaks, its trace, what to do."""
    yield f"## {'What it is' if is_only else row.title[:1].upper() + row.title[1:]}\n"
    yield f"{prose(with_general_words(row.reason))}\n"
    if row.example:
        yield f"Its trace:\n\n```text\n{row.example}\n```\n"
    yield f"**What to do.** {prose(with_general_words(row.advice))}\n"
    if row.fix:
        yield f"```python\n{code_with_general_names(row.fix)}\n```\n"
    if row.links:
        yield "See " + ", ".join(map(linked, row.links)) + ".\n"


def programs(code: str, stories: Sequence[Story], sources: Sources) -> Iterator[str]:
    """Yield programs that leak and their fixes: stories, else a case of the tests."""
    for story in stories[:IN_FULL]:
        yield from program(story, sources.twins(story))
    for example in [] if stories else sources.examples.get(code, ())[:1]:
        yield "## A program that leaks\n"
        yield "`hold` outlives the call. The returned object should be gone, and is not.\n"
        yield f"```python\n{example.source}\n```\n"


def program(story: Story, twins: Sequence[Story]) -> Iterator[str]:
    """Yield a story in full: its text, its source, and the diff of each fixed twin."""
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
    """Yield the table of recorded verdicts."""
    rows = [(f"`{story.info.family}`", one) for story in stories for one in sources.verdicts.get(story.info.id, ())]
    if not rows:
        return
    yield "## Since which release\n"
    yield "As recorded on each release. `del`: freed at once. `gc`: freed by the collector. `never`: not freed.\n"
    yield "| release | " + " | ".join(f"{name}: {cell(one.subject)}" for name, one in rows) + " |"
    yield "|---|" + "---|" * len(rows)
    for number, (release, _) in enumerate(rows[0][1].verdicts):
        words = (one.verdicts[number][1].replace("inconclusive", "?") for _, one in rows)
        yield f"| {release} | " + " | ".join(words) + " |"
    yield "\n`?`: cannot be observed in that release. `-`: no reading.\n"
    changes = dict.fromkeys(change for _, one in rows for change in one.changes)
    yield from (f"- {prose(change)}" for change in changes)
    yield ""


def further(stories: Sequence[Story]) -> Iterator[str]:
    """Yield one line per other story."""
    if stories:
        yield "## Further stories\n"
        yield from (f"- `{one.info.family}`: {prose(one.info.title)}" for one in stories)
        yield ""


def bugs(code: str) -> Iterator[str]:
    """Yield the known leaks of libraries with this code."""
    known = [leak for leak in known_leaks() if code in leak.codes]
    if known:
        yield "## Known bugs of libraries\n"
        yield from map(bug, known)
        yield ""


def bug(leak: KnownLeak) -> str:
    """Return the line of a known leak."""
    versions = f" `{leak.versions}`" if leak.versions else ""
    return f"- {leak.library}{versions}, {linked(leak.link)}: {prose(leak.what)}. {prose(leak.advice)}. {checked(leak)}"


def known_text() -> str:
    """Return the page of all known leaks, by library."""
    lines = [
        "# Known leaks of libraries",
        "",
        "The page of `gradlife codes --known`. A hunt names a leak if its trace has the library's object and the version has",
        "the bug. `read, not run`: the issue and the change were read, and nothing was run here. Where no release is named,",
        "neither the issue nor the library's history names one.",
        "",
    ]
    for library in dict.fromkeys(leak.library for leak in known_leaks()):
        lines += [f"## {library}", "", *(bug(leak) for leak in known_leaks() if leak.library == library), ""]
    return "\n".join(lines)


def prose(text: str) -> str:
    """Escape the text of a docstring; text in backticks stays code."""
    pieces = re.split(r"(`[^`]+`)", text)
    done = (
        piece if number % 2 else re.sub(r"([\\*_<>\[\]#|~$])", r"\\\1", piece) for number, piece in enumerate(pieces)
    )
    return ISSUE.sub(lambda found: linked(found[0]), "".join(done).replace("\\#", "#"))


def linked(origin: str) -> str:
    """Return an issue or an address as a link."""
    issue = ISSUE.fullmatch(origin)
    if issue:
        return f"[{origin}](https://github.com/{issue[1]}/issues/{issue[2]})"
    return f"<{origin}>" if origin.startswith("https://") else prose_without_links(origin)


def prose_without_links(text: str) -> str:
    """Escape a text that names no issue."""
    return re.sub(r"([\\*_<>\[\]|~$])", r"\\\1", text)


def cell(text: str) -> str:
    """Return a text for a table cell."""
    return prose(text).replace("\n", " ")
