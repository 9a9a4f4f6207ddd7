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
from gradlife.mcp_server.tools import ToolFailed
from processes import comes_true, ends

LEAKING = """\
kept = []


def step():
    kept.append(lambda: None)
"""


def test_a_code_is_explained() -> None:
    assert tools.explain("GL402").startswith("GL402")


def test_what_a_command_refuses_is_an_error_with_its_words() -> None:
    with pytest.raises(ToolFailed, match=r"unknown|no such|GL999"):
        tools.explain("GL999")


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "heap.glheap").write_text("mine")
    with pytest.raises(ToolFailed, match=r"heap\.glheap exists"):
        tools.snapshot("train.py", "heap.glheap", folder=str(tmp_path))
    assert (tmp_path / "heap.glheap").read_text() == "mine"


ASKED: dict[str, Callable[[], object]] = {
    "hunt": lambda: tools.hunt("--fix"),
    "module": lambda: tools.hunt("-m --json=report.json"),
    "why": lambda: tools.why("heap.glheap", "--html=page.html"),
    "snapshot": lambda: tools.snapshot("--native", "heap.glheap"),
    "diff": lambda: tools.diff("--help", "heap.glheap"),
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
        tools.hunt("train.py", ["--fix", "--write"])
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
    found = tools.hunt("program.py::step", folder=str(tmp_path))
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
    first = tools.snapshot("one.py", "one.glheap", folder=str(tmp_path))
    path = first.partition(":\n")[0]
    assert path == str(tmp_path / "one.glheap")  # `why` and `diff` know no folder
    assert first.startswith(f"{path}:\none.glheap\n")
    assert tools.diff(path, path)
    assert "module" in tools.why(path, "module")


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
        asyncio.run(make_server().call_tool("snapshot", asked))


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
