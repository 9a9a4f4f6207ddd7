"""Which existing files a report may replace: those that gradlife wrote, and empty ones."""

from __future__ import annotations

import os
import re

from gradlife.errors import OutputError

# fmt: off
#: How the names of source files end. A report replaces none of them.
SOURCES = frozenset(
    {
        ".bash", ".bat", ".c", ".cc", ".cfg", ".cpp", ".cu", ".cuh", ".cxx", ".fish", ".go", ".h", ".hpp",
        ".hxx", ".ini", ".ipynb", ".java", ".jl", ".js", ".lua", ".pxd", ".pxi", ".py", ".pyi", ".pyw",
        ".pyx", ".rs", ".sh", ".sql", ".toml", ".ts", ".tsx", ".yaml", ".yml", ".zsh",
    }
)
# fmt: on

#: The ends of names that no report gets: the option has taken the name of a program.
PYTHON = frozenset({".py", ".ipynb"})

#: What only gradlife's files have among their first or last bytes.
MARKS = re.compile(
    rb"""
      \A GLHEAP                                                  # a snapshot
    | \A \s* \{ \s* "format": \s* "gradlife\.                    # JSON
    | "driver": \s* \{ \s* "name": \s* "gradlife"                # SARIF
    | <meta\ name="generator"\ content="gradlife                 # a page
    | <testsuites\ name="gradlife                                # JUnit XML
    | \A <svg\ [^>]*> \s* <title>gradlife                        # a command's output as a picture
    | \A \#{1,2}\ gradlife                                       # Markdown, a patch
    | \A digraph\ gradlife\b | <!--\ Title:\ gradlife\b          # graphviz's language, its SVG
    | tEXtSoftware\0gradlife | %gradlife \s* \Z                   # its PNG and PDF
    """,
    re.VERBOSE,
)

#: The first line of a story that was exported. A story is a source that gradlife wrote.
STORY = re.compile(rb'\A"""[^"\n]*, as gradlife found it in a program, in miniature\.\n')

#: Bytes at the start and at the end of a file in which a mark stands.
HEAD, TAIL = 4096, 16


def refuse_overwriting(path: str, option: str = "", is_forced: bool = False, is_story: bool = False) -> None:
    """Raise OutputError if a report at this path would replace a file that gradlife did not write.

    A source file is refused even if forced, except an exported story if ``is_story``; so is the name of a new Python source.
    ``option`` named the path.
    """
    named = f"{option} {path}".lstrip()
    if not os.path.isfile(path):  # a new file, a pipe, or a folder, which has an error of its own
        if option and not is_story and os.path.splitext(path)[1].lower() in PYTHON:
            raise OutputError(f"{named}: a report is no Python source", remedy_for(path, option))
        return
    if is_story and STORY.search(head_and_tail(path)):
        return
    if is_source(path):
        raise OutputError(f"{named}: a source file is never overwritten", remedy_for(path, option))
    if not (is_forced or is_own(path)):
        remedy = f"{option} with another name, or --force".lstrip() if option else "another name"
        raise OutputError(f"{named}: the file is there and was not written by gradlife", remedy)


def is_source(path: str) -> bool:
    """Whether the name of a file, or of the file that a link leads to, is that of a source."""
    return any(os.path.splitext(name)[1].lower() in SOURCES for name in (path, os.path.realpath(path)))


def remedy_for(path: str, option: str) -> str:
    """Return what to type if an option took a source file: in most cases its own argument is missing."""
    suffix = {"--markdown": "md", "--junit": "xml", "--picture": "png"}.get(option, option.lstrip("-"))
    return f"{option} report.{suffix} {path}" if option.startswith("--") else "a name that ends in no source's suffix"


def is_own(path: str) -> bool:
    """Whether gradlife wrote the file, or it is empty."""
    content = head_and_tail(path)
    return not content or MARKS.search(content) is not None


def head_and_tail(path: str) -> bytes:
    """Return the first and last bytes of a file; those of nobody's if it cannot be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
            file.seek(max(len(head), os.fstat(file.fileno()).st_size - TAIL))
            return head + file.read(TAIL)
    except OSError:
        return b"?"
