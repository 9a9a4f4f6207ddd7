"""docs/fixing/production.md: its service is started and asked for answers, while every command of the page is run."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from attachable import why_no_debugger
from page_commands import Shown, commands_of, run, write_files
from sources import ROOT

PAGE = (ROOT / "docs" / "fixing" / "production.md").read_text(encoding="utf-8")

#: The number of the process on the page.
PID = "4711"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gradlife attaches on Linux only")


@contextmanager
def service_under_load(folder: Path) -> Iterator[int]:
    """The number of the page's service, which answers one request after the other."""
    with subprocess.Popen([sys.executable, "service.py"], cwd=folder, stdout=subprocess.PIPE) as service:
        assert service.stdout is not None
        address = f"http://127.0.0.1:{int(service.stdout.readline())}"
        has_ended = threading.Event()

        def ask() -> None:
            number = 0
            while not has_ended.wait(0.001):
                number += 1
                urllib.request.urlopen(f"{address}/{number}", timeout=900).read()

        client = threading.Thread(target=ask)
        client.start()
        try:
            yield service.pid
        finally:
            has_ended.set()
            client.join()
            service.kill()


@pytest.mark.torch
@pytest.mark.whole
def test_the_service_is_asked_as_the_page_tells(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    asked = [shown for shown in commands_of(PAGE) if "service.sock" in shown.command or "heap.glheap" in shown.command]
    with service_under_load(tmp_path):
        assert [run(shown, tmp_path).returncode for shown in asked] == [1, 0, 0, 0]


@pytest.mark.torch
@pytest.mark.whole
def test_a_slow_leak_is_found_by_watching(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    head, _, block = (tmp_path / "watched.py").read_text().partition("with gradlife.watch")
    loop = textwrap.dedent(block.partition("\n")[2])
    plain = head.replace("import gradlife\n", "") + loop.replace("leaks.jsonl", "hunt.jsonl")
    (tmp_path / "unwatched.py").write_text(plain)
    asked = [shown for shown in commands_of(PAGE) if "watched.py" in shown.command or "leaks.jsonl" in shown.command]
    assert [run(shown, tmp_path).returncode for shown in asked] == [0, 0, 1]


@pytest.mark.torch
@pytest.mark.whole
@pytest.mark.skipif(bool(why_no_debugger()), reason=why_no_debugger())
def test_a_process_is_attached_to_by_its_number(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    source = tmp_path / "service.py"
    source.write_text(
        source.read_text().replace("import gradlife\n", "").replace('gradlife.serve("service.sock")\n', "")
    )
    [shown] = [one for one in commands_of(PAGE) if PID in one.command]
    with service_under_load(tmp_path) as pid:
        assert run(Shown(shown.command.replace(PID, str(pid)), shown.parts), tmp_path).returncode == 1


@pytest.mark.torch
@pytest.mark.whole
def test_a_program_that_runs_out_of_memory_leaves_a_report(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    asked = [shown for shown in commands_of(PAGE) if "fills.py" in shown.command or "oom.json" in shown.command]
    assert [run(shown, tmp_path).returncode for shown in asked] == [1, 0]
