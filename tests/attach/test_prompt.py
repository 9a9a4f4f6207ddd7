"""`gradlife attach -i`: a prompt on the heap of a running process, which can be taken anew."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import IO

import pytest

from gradlife.attach.client import connect
from gradlife.interactive.heap_source import RunningPatient, SavedPatient
from gradlife.interactive.session import Session

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gradlife attaches on Linux only")

#: Takes 50 orders for each line that it reads.
SHOP = """\
import sys
import gradlife

class Order:
    pass

orders = [Order()]
gradlife.serve(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    orders += [Order() for _ in range(50)]
    print("taken", flush=True)
"""


@dataclass(frozen=True)
class Shop:
    """The process, and where it listens."""

    process: subprocess.Popen[str]
    door: str

    def take_orders(self) -> None:
        """Let it take 50 orders."""
        assert self.process.stdin is not None
        self.process.stdin.write("more\n")
        self.process.stdin.flush()
        assert self.said() == "taken\n"

    def said(self) -> str:
        output: IO[str] | None = self.process.stdout
        assert output is not None
        return output.readline()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    (tmp_path / "shop.py").write_text(SHOP)
    door = str(tmp_path / "door")
    command = [sys.executable, str(tmp_path / "shop.py"), door]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        found = Shop(process, door)
        assert found.said() == "ready\n"
        yield found
        process.kill()


def test_the_heap_is_taken_anew_while_the_process_runs_on(shop: Shop, tmp_path: Path) -> None:
    with connect(shop.door) as session:

        def take(path: str) -> float:
            return float(session.snapshot(Path(path))["pause_seconds"])

        patient = RunningPatient("shop", str(tmp_path / "x.glheap"), take)
        assert len(patient.snapshot.instances("Order", 99)) == 1
        shop.take_orders()
        assert len(patient.snapshot.instances("Order", 99)) == 1  # as it was taken
        changed = {row.type: row.new for row in patient.refresh().types}
        assert (changed["__main__.Order"], len(patient.snapshot.instances("Order", 99))) == (50, 51)


def test_the_prompt_says_what_changed_and_outlives_the_process(shop: Shop, tmp_path: Path) -> None:
    with connect(shop.door) as session:

        def take(path: str) -> float:
            return float(session.snapshot(Path(path))["pause_seconds"])

        output = StringIO()
        prompt = Session(RunningPatient("shop", str(tmp_path / "x.glheap"), take), StringIO(), output)
        prompt.preloop()
        assert "`refresh` looks again." in output.getvalue()
        shop.take_orders()
        prompt.onecmd("refresh")
        assert "Order" in output.getvalue()
        shop.process.kill()
        shop.process.wait()
        prompt.onecmd("refresh")
        assert "the other side has gone" in output.getvalue()
        prompt.onecmd("retained Order")
        assert output.getvalue().count("global variable 'orders'") >= 12  # the last heap is still there


def test_a_file_cannot_be_taken_anew(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "x.glheap"
    with connect(shop.door) as session:
        session.snapshot(path)
    output = StringIO()
    Session(SavedPatient(str(path)), StringIO(), output).onecmd("refresh")
    assert output.getvalue() == ("'refresh' needs a process that is attached to (try: gradlife attach PID -i)\n")
