"""Files and arguments of strangers on the command line: their text is shown, and never acted on."""

from __future__ import annotations

import pickle
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import glheap
from allocator_files import MB, block, frame, segment, snapshot
from gradlife.model.watching.out_of_memory import LiveOwner, OutOfMemory
from written import besides_files

Gradlife = Callable[..., tuple[int, str, str]]

EVIL = "\x1b]0;owned\x07\u202e\r\n::error::forged\n##[error]forged"


def assert_harmless(text: str) -> None:
    assert [one for one in text if not (one.isprintable() or one in "\n\t")] == []
    assert not re.search(r"(?m)^\s*::|##\[", text)
    assert r"\u202e" in text


def oom(folder: Path) -> Path:
    owner = LiveOwner(f"global variable '{EVIL}': list", MB)
    report = OutOfMemory(EVIL, EVIL, 1, None, MB, MB, {EVIL: MB}, (owner,), (), (), ())
    path = folder / "oom.json"
    path.write_text(report.dumps(), encoding="utf-8")
    return path


def heap(folder: Path) -> Path:
    sketch = glheap.small_heap()
    sketch.sections[glheap.NOTES] = (1, f"taken\t{EVIL}\nprocess\tp\x1b[31m\u202e\nlimit\t\x9b\u202e\n".encode())
    sketch.sections[glheap.TEXT_ENDS], sketch.sections[glheap.TEXTS] = glheap.texts(
        ["", "...", "len 1", f"'{EVIL}'", "sys.modules", "storage"]
    )
    path = folder / "x.glheap"
    path.write_bytes(sketch.data())
    return path


def device(folder: Path) -> Path:
    path = folder / "oom.pickle"
    path.write_bytes(pickle.dumps(snapshot(segment(0, block(MB, "active_allocated", frame(f"/a/{EVIL}.py", 3, EVIL))))))
    return path


@pytest.mark.parametrize("file", [oom, heap, device])
def test_open_shows_what_a_file_says_and_obeys_nothing(
    gradlife: Gradlife, tmp_path: Path, file: Callable[[Path], Path]
) -> None:
    status, output, errors = gradlife("open", str(file(tmp_path)), "--all")
    assert (status, errors) == (0, "")
    assert_harmless(output)


@pytest.mark.parametrize("name", ["json", "html", "svg"])
@pytest.mark.parametrize("file", [heap, device])
def test_open_writes_no_raw_character(
    gradlife: Gradlife, tmp_path: Path, file: Callable[[Path], Path], name: str
) -> None:
    page = tmp_path / f"page.{name}"
    assert gradlife("open", str(file(tmp_path)), f"--{name}", str(page))[0] == 0
    assert_harmless(page.read_text(encoding="utf-8"))


COMMANDS = {
    "a snapshot": ("open", EVIL),
    "an object": ("why", EVIL, EVIL),
    "two snapshots": ("diff", EVIL, EVIL),
    "a module": ("hunt", "-m", EVIL),
    "a script": ("hunt", f"{EVIL}.py"),
    "a script's peak": ("peak", f"{EVIL}.py"),
    "an output": ("doctor", "--json", f"/nowhere/{EVIL}"),
    "a story": ("explain", EVIL),
    "a suite": ("run", EVIL),
    "a story's history": ("history", EVIL),
    "a command": (EVIL,),
    "an option": ("open", "x", f"--{EVIL}"),
    "a folder": ("merge", EVIL),
    "a list": ("list", EVIL),
    "a process": ("attach", EVIL),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_an_error_names_a_path_on_one_line(gradlife: Gradlife, words: tuple[str, ...]) -> None:
    status, _, errors = gradlife(*words)
    assert (status, errors.count("\n")) == (2, 1)
    assert_harmless(errors)


@pytest.mark.parametrize("size", [2**64 - 1, 2**53 + 1])
@pytest.mark.parametrize("option", ["--html", "--json", "--all"])
def test_a_size_that_no_memory_has_is_refused_when_the_file_is_read(
    gradlife: Gradlife, tmp_path: Path, size: int, option: str
) -> None:
    """A page ended in a ZeroDivisionError."""
    sketch = glheap.small_heap()
    sketch.sections[glheap.BIG_SIZES] = glheap.pairs("Q", 5, size)
    path = tmp_path / "x.glheap"
    path.write_bytes(sketch.data())
    status, output, errors = gradlife(
        "open", str(path), option, *([str(tmp_path / "page")] if option != "--all" else [])
    )
    assert (status, output) == (2, "")
    assert errors.startswith(f"gradlife: error: {path} is damaged: its objects are larger than any memory (try: ")


def test_the_largest_size_that_is_read_is_shown(gradlife: Gradlife, tmp_path: Path) -> None:
    sketch = glheap.small_heap()
    sketch.sections[glheap.BIG_SIZES] = glheap.pairs("Q", 5, 2**53 - 1000)
    path = tmp_path / "x.glheap"
    path.write_bytes(sketch.data())
    assert gradlife("open", str(path), "--html", str(tmp_path / "page"))[0] == 0
    assert "9.01 PB" in gradlife("open", str(path), "--all")[1]


BOMBS = {
    "a text": glheap.chain(2000, text="T" * 10**6),
    "a name": glheap.chain(2000, name="N" * 10**6),
    "a text of two-byte letters": glheap.chain(2000, text="é" * 10**6),
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("words", [("open", "--all"), ("why",), ("open", "--html", "page")], ids=" ".join)
def test_a_text_that_each_step_of_a_path_shows_fills_no_memory(
    tmp_path: Path, bomb: str, words: tuple[str, ...]
) -> None:
    """A file of a megabyte took 4 GB: a path of 2,000 objects showed one text of a megabyte at each."""
    (tmp_path / "x.glheap").write_bytes(BOMBS[bomb].data())
    what = [hex(0x10000 + 16 * 1999)] if words == ("why",) else []

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))

    command = [sys.executable, "-m", "gradlife", *words, "x.glheap", *what]
    done = subprocess.run(command, preexec_fn=limit, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert (done.returncode, besides_files(done.stderr)) == (0, "")
    assert len(done.stdout) < 10**7


def test_texts_of_references_that_are_longer_than_the_file_are_refused(gradlife: Gradlife, tmp_path: Path) -> None:
    """A reference takes five bytes of a file, and its text may be that of all others."""
    sketch, many = glheap.chain(4, text="T" * 400), 100_000
    sketch.edges += many - 1
    sketch.sections |= {
        glheap.FIRST: glheap.numbers("I", [0, 1, 2, 2 + many, 3 + many, 4 + many, 4 + many]),
        glheap.REFERENCES: glheap.numbers("I", [1, 2, *([3] * many), 4, 5]),
        glheap.OTHERS: glheap.numbers("I", [3 << 27 | 2] * (many - 1)),
        glheap.LABEL_GAPS: glheap.numbers("B", [3] + [0] * (many - 2)),
        glheap.LONG_GAPS: glheap.numbers("I", ()),
    }
    path = tmp_path / "x.glheap"
    path.write_bytes(sketch.data())
    status, _, errors = gradlife("open", str(path))
    assert (status, errors.count("\n")) == (2, 1)
    assert "x.glheap is damaged: its texts are longer than the file (try: " in errors


def test_an_answer_that_does_not_fit_into_memory_is_said_in_one_line(
    gradlife: Gradlife, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("gradlife.cli.open.print_heap", full)
    status, _, errors = gradlife("open", str(heap(tmp_path)))
    assert (status, errors.count("\n")) == (3, 1)
    assert errors.startswith("gradlife: error: the answer does not fit into memory (try: ")
