"""What an assistant is told: the line, the change, the words of the commands; and errors as text."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.mcp_server import tools
from gradlife.mcp_server.server import NoServer, make_server
from gradlife.mcp_server.tools import ToolFailed, Tools
from processes import comes_true, ends

TOOLS = Tools(".")

LEAKING = """\
kept = []


def step():
    kept.append(lambda: None)
"""


def test_a_code_is_explained() -> None:
    assert TOOLS.explain("GL402").startswith("GL402")


def test_what_a_command_refuses_is_an_error_with_its_words() -> None:
    with pytest.raises(ToolFailed, match=r"unknown|no such|GL999"):
        TOOLS.explain("GL999")


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "heap.glheap").write_text("mine")
    with pytest.raises(ToolFailed, match=r"heap\.glheap exists"):
        Tools(str(tmp_path)).snapshot("train.py", "heap.glheap")
    assert (tmp_path / "heap.glheap").read_text() == "mine"


ASKED: dict[str, Callable[[], object]] = {
    "hunt": lambda: TOOLS.hunt("--fix"),
    "module": lambda: TOOLS.hunt("-m --json=report.json"),
    "why": lambda: TOOLS.why("heap.glheap", "--html=page.html"),
    "snapshot": lambda: TOOLS.snapshot("--native", "heap.glheap"),
    "diff": lambda: TOOLS.diff("--help", "heap.glheap"),
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_name_that_is_an_option_is_refused(asked: str) -> None:
    with pytest.raises(ToolFailed, match="is an option"):
        ASKED[asked]()


def test_the_arguments_of_a_program_are_no_options_of_gradlife(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--fix --write` after a script that reads no command line would have changed its source."""
    asked: list[list[str]] = []

    def run(words: list[str], folder: str) -> tuple[int, str, str]:
        asked.append(words[words.index("hunt") :])
        return 0, "", ""

    monkeypatch.setattr(tools, "ended", run)
    with pytest.raises(ToolFailed):
        TOOLS.hunt("train.py", ["--fix", "--write"])
    assert asked[0][3:] == ["train.py", "--", "--fix", "--write"]


#: Stands for gradlife: it starts a program, and writes a report when SIGTERM ends it. A signal that arrives just before
#: a wait without end is not seen by it.
WATCHER = """
import signal, subprocess, sys, time
program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(900)"])
signal.signal(signal.SIGTERM, lambda *_: (print("a report", flush=True), sys.exit(143)))
open("program", "w").write(f"{program.pid}\\n")
while program.poll() is None:
    time.sleep(0.01)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are waited for as Linux does it")
def test_what_runs_too_long_leaves_its_report_and_no_process(tmp_path: Path) -> None:
    """Only gradlife was killed: its report was lost, and the training went on."""
    there = tmp_path / "program"
    command = [sys.executable, "-c", WATCHER]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=said, start_new_session=True)
        assert comes_true(lambda: there.exists() and there.read_text().endswith("\n"))
        assert tools.end(process) == 143
    assert (tmp_path / "said").read_text() == "a report\n"
    assert ends(int(there.read_text()))


def test_the_time_limit_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "LIMIT", 0.0)
    status, _, errors = tools.ended([sys.executable, "-c", "import time; time.sleep(900)"], str(tmp_path))
    assert (status, errors) == (-15, "ended after 0 seconds")


@pytest.mark.whole
def test_a_hunt_names_the_line_that_stores(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LEAKING)
    found = Tools(str(tmp_path)).hunt("program.py::step")
    assert found["verdict"] == "leak"
    [finding] = found["findings"]
    assert (finding["stored_at"]["file"], finding["stored_at"]["line"]) == ("program.py", 5)
    assert (finding["patch"]["added"], finding["severity"]) == (
        ["kept.clear()  # nothing reads more than the last one"],
        "minor",
    )
    assert "kept.append(lambda: None)" in found["screen"]
    assert (tmp_path / "program.py").read_text() == LEAKING


@pytest.mark.whole
def test_two_snapshots_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("names = ['a']\n")
    first = Tools(str(tmp_path)).snapshot("one.py", "one.glheap")
    path = first.partition(":\n")[0]
    assert path == str(tmp_path / "one.glheap")  # `why` and `diff` know no folder
    ran = f"ran gradlife snapshot -o one.glheap one.py in {tmp_path}"
    assert first.startswith(f"{path}:\n{ran}\n{path}\n")
    assert Tools(str(tmp_path)).diff(path, path)
    assert "module" in Tools(str(tmp_path)).why(path, "module")


def test_without_the_package_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(NoServer, match=r"gradlife mcp needs the package mcp"):
        make_server()


def test_the_server_has_the_five_tools_and_marks_what_they_change() -> None:
    pytest.importorskip("mcp.server", reason="the package mcp is not installed")
    listed = asyncio.run(make_server().list_tools())
    assert [one.name for one in listed] == ["hunt", "why", "snapshot", "diff", "explain"]
    assert [one.name for one in listed if one.annotations.read_only_hint] == ["why", "diff", "explain"]
    assert [one.name for one in listed if one.annotations.destructive_hint] == ["hunt", "snapshot"]


def test_an_error_reaches_the_assistant_with_its_reason(tmp_path: Path) -> None:
    pytest.importorskip("mcp.server", reason="the package mcp is not installed")
    refused = importlib.import_module("mcp.server.mcpserver.exceptions").ToolError
    asked = {"script": "one.py", "output": "there", "folder": str(tmp_path)}
    (tmp_path / "there").write_text("")
    with pytest.raises(refused, match=r"there exists \(try: another file name\)"):
        asyncio.run(make_server(str(tmp_path)).call_tool("snapshot", asked))


@pytest.mark.whole
def test_an_assistant_that_begins_a_session_is_answered() -> None:
    pytest.importorskip("mcp.server", reason="the package mcp is not installed")
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    done = subprocess.run(
        [sys.executable, "-m", "gradlife", "mcp"],
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        timeout=900,
    )
    answer = json.loads(done.stdout.splitlines()[0])
    assert (answer["id"], answer["result"]["serverInfo"]["name"]) == (1, "gradlife")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root folder beside programs of others, with links to them."""
    (tmp_path / "root").mkdir()
    (tmp_path / "other").mkdir()
    for name in ("other/evil.py", "other/x.glheap"):
        (tmp_path / name).write_text("open('it-ran', 'w')")
    for link, to in (
        ("link.py", "other/evil.py"),
        ("folder", "other"),
        ("package", "other"),
        ("x.glheap", "other/x.glheap"),
    ):
        (tmp_path / "root" / link).symlink_to(tmp_path / to)
    return tmp_path / "root"


OUTSIDE: dict[str, Callable[[Tools], object]] = {
    "a program above": lambda tools: tools.hunt("../other/evil.py"),
    "a function above": lambda tools: tools.hunt("../other/evil.py::step"),
    "a linked program": lambda tools: tools.hunt("link.py"),
    "a linked folder": lambda tools: tools.hunt("evil.py", folder="folder"),
    "a program in a linked folder": lambda tools: tools.hunt("folder/evil.py"),
    "a linked package": lambda tools: tools.hunt("-m package.evil"),
    "a function of a linked package": lambda tools: tools.hunt("package.evil:step"),
    "a folder above": lambda tools: tools.hunt("evil.py", folder="../other"),
    "a module of Python in a folder above": lambda tools: tools.hunt("-m json.tool", folder="../other"),
    "a module of Python in a linked folder": lambda tools: tools.hunt("json.tool:main", folder="folder"),
    "a script above": lambda tools: tools.snapshot("/etc/hostname.py", "new.glheap"),
    "an output above": lambda tools: tools.snapshot("mine.py", "../new.glheap"),
    "an output in a linked folder": lambda tools: tools.snapshot("mine.py", "folder/new.glheap"),
    "a linked snapshot": lambda tools: tools.why("x.glheap", "list"),
    "a snapshot above": lambda tools: tools.diff("../other/x.glheap", "../other/x.glheap"),
}


@pytest.mark.parametrize("asked", OUTSIDE)
def test_nothing_outside_of_the_root_is_run_or_read(root: Path, asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(words: list[str], folder: str) -> tuple[int, str, str]:
        raise AssertionError(f"{words} was run")

    monkeypatch.setattr(tools, "ended", run)
    with pytest.raises(ToolFailed, match=f"is outside of {root}"):
        OUTSIDE[asked](Tools(str(root)))


def test_a_tool_that_reads_imports_no_module_of_the_folder(tmp_path: Path) -> None:
    for name in ("json", "argparse", "rich", "gradlife", "socket"):
        (tmp_path / f"{name}.py").write_text("import pathlib\npathlib.Path('it-ran').touch()\n")
    found = Tools(str(tmp_path))
    assert found.explain("GL402").startswith("GL402")
    readers: list[Callable[[str], object]] = [
        found.explain,
        lambda name: found.why(name, "list"),
        lambda name: found.diff(name, name),
    ]
    for read in readers:
        with pytest.raises(ToolFailed):
            read("json.py")
    assert not (tmp_path / "it-ran").exists()
