"""The sources of the program: the files of the modules that it loaded, without Python's and the libraries'."""

from __future__ import annotations

import ast
import itertools
import os
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from gradlife.heap.program_modules import file_of, is_program, newest_modules
from gradlife.model.source_text import plain_rows

#: Most files to read, and most characters of a file.
MAX_FILES, MAX_CHARACTERS = 1_000, 1_000_000

#: Most bytes in all: to parse and search them takes about 1.4 s of a processor for each million.
MAX_BYTES = 4_000_000

#: The module that a script is.
MAIN = "__main__"


@dataclass(frozen=True)
class Source:
    """One file of the program."""

    module: str
    file: str
    text: str
    newline: str = "\n"  # how its lines end, if not so; empty: some in one way, some in another

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree, parsed on first use; empty if the text is not Python."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError):
            return ast.Module([], [])

    def line(self, number: int) -> str:
        """Return a line without its indentation."""
        return plain_rows(self.text)[number - 1].strip()


def program_sources() -> list[Source]:
    """Return the sources that can be read. Runs no code of the program."""
    found = ((name, file_of(name, module)) for name, module in newest_modules())
    files = {str(file): name for name, file in found if isinstance(file, str) and is_program(file)}
    newest = dict(itertools.islice(files.items(), MAX_FILES))
    return list(readable((newest[file], file) for file in nearest(newest)))


def are_all_read() -> bool:
    """Whether `program_sources` has all of the program's files: a change is only safe if nothing that reads it is unknown."""
    found = [file_of(name, module) for name, module in newest_modules()]
    files = {file for file in found if isinstance(file, str) and is_program(file)}
    return len(files) <= MAX_FILES and sum(map(size_of, files)) <= MAX_BYTES


def nearest(files: Mapping[str, str]) -> list[str]:
    """Return the files of these modules that are searched: the script, then small packages before large ones, which are
    likely libraries beside the program, until there are too many bytes.
    """
    sizes = {file: size_of(file) for file in files}
    packages: Counter[str] = Counter()
    for file, name in files.items():
        packages[name.partition(".")[0]] += sizes[file]
    ordered = sorted(files, key=lambda file: (files[file] != MAIN, packages[files[file].partition(".")[0]]))
    sums = itertools.accumulate(sizes[file] for file in ordered)
    return [file for file, total in zip(ordered, sums, strict=True) if total <= MAX_BYTES or files[file] == MAIN]


def size_of(file: str) -> int:
    """Return the bytes of a file; 0 if it cannot be read."""
    try:
        return os.stat(file).st_size
    except (OSError, ValueError):
        return 0


def readable(files: Iterator[tuple[str, str]]) -> Iterator[Source]:
    """Yield the files that can be read and are not unusually large."""
    for module, file in files:
        try:
            with tokenize.open(file) as opened:
                text, ends = opened.read(MAX_CHARACTERS + 1), opened.newlines
            if len(text) <= MAX_CHARACTERS:
                yield Source(module, file, text, "" if isinstance(ends, tuple) else ends or "\n")
        except (OSError, SyntaxError, ValueError):
            continue
