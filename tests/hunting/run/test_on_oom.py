"""The report that a process leaves when its memory runs out."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gradlife
from gradlife.errors import UsageError
from gradlife.model.watching.out_of_memory import Growth
from gradlife.program.hunt.on_oom import grown

#: Takes memory until there is none.
FILLS = """\
import gradlife
import gradlife.engine as torch

gradlife.on_oom("oom.json", at=1)
kept = []
while True:
    kept.append(torch.ones(250_000))
"""

#: Waits with much memory until its report is there.
NEAR = """\
import os, time
import gradlife
import gradlife.engine as torch

kept = [torch.ones(1_000_000) for _ in range(8)]
watching = gradlife.on_oom("oom.json", at=0.5, limit=60_000_000)
more = [torch.ones(1_000_000) for _ in range(2)]
while not os.path.exists(watching.path):
    time.sleep(0.01)
"""

#: Ends while its report is written.
ENDS = """\
import threading, time
import gradlife
from gradlife.program.hunt import on_oom

write, begun = on_oom.write_whole, threading.Event()

def write_slowly(path, text):
    begun.set()
    time.sleep(1)
    write(path, text)

on_oom.write_whole = write_slowly
gradlife.on_oom("oom.json", at=0.5, limit=1)
begun.wait()
"""

#: Joins a control group, and takes memory until the kernel ends it.
IN_A_GROUP = """\
import os, time
open(os.path.join({group!r}, "cgroup.procs"), "w").write(str(os.getpid()))
import gradlife
import gradlife.engine as torch

watching = gradlife.on_oom("oom.json", at=0.6)
kept = []
while True:
    kept.append(torch.ones(500_000))
    if len(kept) == 200:  # 400 MB of 600
        while not os.path.exists(watching.path):
            time.sleep(0.01)
"""

#: Fails in a step with variables of its own, and keeps a history.
STEPS = """\
import gradlife
import gradlife.engine as torch

gradlife.on_oom("oom.json", limit=1 << 50)


class Trainer:
    def __init__(self):
        self.history = []

    def step(self, number):
        out = torch.ones(250_000)
        hidden = [torch.ones(250_000) for _ in range(3)]
        self.history.append([out + 1, out + 2])
        if number == 5:
            fail(out, hidden)


def fail(out, hidden):
    doubled = out * 2
    raise MemoryError("CUDA out of memory. Tried to allocate 16.00 MiB. GPU 0 has a total capacity of 79.18 GiB.")


trainer = Trainer()
for number in range(10):
    trainer.step(number)
"""

GROUP_BYTES = 600_000_512

ADDRESS_SPACE = 900 << 20


def run(source: str, folder: Path, limit: int | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    def limit_memory() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return subprocess.run(
        [sys.executable, "-c", source],
        cwd=folder,
        env={**os.environ, **environment},
        preexec_fn=limit_memory,
        capture_output=True,
        text=True,
        timeout=900,
    )


def report_in(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())
    assert document["format"] == "gradlife.oom/1"
    return document


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A memory control group of this test's own, with a limit."""
    top, name = Path("/sys/fs/cgroup"), f"gradlife-test-{os.getpid()}"
    folder, limit = (
        (top / "memory" / name, "memory.limit_in_bytes") if (top / "memory").is_dir() else (top / name, "memory.max")
    )
    try:
        folder.mkdir()
        (folder / limit).write_text(str(GROUP_BYTES))
    except OSError as error:
        with contextlib.suppress(OSError):
            folder.rmdir()
        pytest.skip(f"this machine allows no memory control group: {error}")
    try:
        yield folder
    finally:
        folder.rmdir()


@pytest.mark.allocator
@pytest.mark.whole
def test_near_the_limit_of_its_control_group_a_process_leaves_its_report_before_the_kernel_ends_it(
    memory_group: Path, tmp_path: Path
) -> None:
    done = run(IN_A_GROUP.format(group=str(memory_group)), tmp_path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    report = report_in(tmp_path / "oom.json")
    assert report["limit_bytes"] == GROUP_BYTES // 4096 * 4096
    assert report["cause"].endswith("of the memory limit is taken")
    assert report["owners"][0]["name"] == "module __main__: global variable 'kept': list"


@pytest.mark.allocator
@pytest.mark.whole
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ulimit -v is obeyed on Linux")
def test_a_memory_error_under_a_limit_leaves_who_has_the_memory(tmp_path: Path) -> None:
    done = run(FILLS, tmp_path, ADDRESS_SPACE)
    assert done.returncode == 1
    assert "who has the memory is in oom.json\nTraceback (most recent call last):" in done.stderr
    report = report_in(tmp_path / "oom.json")
    assert report["cause"].startswith("MemoryError: not enough memory for a storage of 1000000 bytes")
    assert report["owners"][0]["name"] == "module __main__: global variable 'kept': list"
    assert report["growth"][0]["type"] == "engine::Storage"
    shown = subprocess.run(
        [sys.executable, "-m", "gradlife", "open", "oom.json"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert shown.startswith("OUT OF MEMORY  oom.json, process ")
    assert "  module __main__: global variable 'kept': list\n" in shown
    assert report["growth"][0]["objects"] * 1_000_000 <= report["owners"][0]["bytes"]
    assert report["limit_bytes"] == ADDRESS_SPACE
    assert report["rank"] is None


RUNPY = "import runpy; runpy.run_path('train.py', run_name='__main__')"


@pytest.mark.parametrize("words", [["train.py"], ["-c", RUNPY]], ids=["python", "runpy"])
def test_a_failed_step_is_named_by_its_functions_and_their_variables(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(STEPS)
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.stderr.splitlines()[0] == (
        "gradlife: MemoryError: CUDA out of memory. Tried to allocate 16.00 MiB: who has the memory is in oom.json"
    )
    report = report_in(tmp_path / "oom.json")
    assert report["cause"].endswith("GPU 0 has a total capacity of 79.18 GiB.")
    assert report["held"] == [
        held("local variable 'hidden' of Trainer.step, train.py:16: list", 3_000_000, 3),
        held("local variable 'doubled' of fail, train.py:21: Tensor float32 [250000]", 1_000_000, 1),
        held("local variable 'out' of Trainer.step, train.py:16: Tensor float32 [250000]", 1_000_000, 1),
    ]
    history = "module __main__: global variable 'trainer'.history"
    assert [(one["name"], one["objects"], one["is_part"]) for one in report["owners"][:5]] == [
        (f"{history}: list", 1, False),
        (f"{history}[*]: list", 6, True),
        (f"{history}[*][*] → storage: engine::Storage", 12, True),
        ("local variable 'hidden' of Trainer.step, train.py:16: list", 1, False),
        ("local variable 'hidden'[*] of Trainer.step, train.py:16: gradlife.engine.tensors.Tensor", 3, True),
    ]


def held(what: str, nbytes: int, storages: int) -> dict[str, Any]:
    return {"kind": "held by the failed step", "what": what, "bytes": nbytes, "storages": storages}


@pytest.mark.whole
def test_a_process_near_its_limit_says_so_before_it_is_killed(tmp_path: Path) -> None:
    done = run(NEAR, tmp_path, RANK="1", WORLD_SIZE="2")
    assert done.returncode == 0, done.stderr
    report = report_in(tmp_path / "oom.json.rank-00001")
    assert report["cause"].endswith("% of the memory limit is taken")
    assert report["rank"] == 1
    assert report["owners"][0]["name"] == "module __main__: global variable 'kept': list"


def test_a_program_that_ends_while_its_report_is_written_waits_for_it(tmp_path: Path) -> None:
    """There was no report, or Python aborted: the thread was stopped in the midst of it."""
    done = run(ENDS, tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1)
    assert report_in(tmp_path / "oom.json")["cause"].endswith("% of the memory limit is taken")


@pytest.mark.whole
def test_another_error_leaves_nothing(tmp_path: Path) -> None:
    done = run('import gradlife\ngradlife.on_oom("oom.json", limit=1 << 50)\nraise ValueError("mine")\n', tmp_path)
    assert done.stderr.splitlines()[-1] == "ValueError: mine"
    assert not (tmp_path / "oom.json").exists()


@pytest.mark.whole
def test_an_error_in_a_thread_is_heard(tmp_path: Path) -> None:
    source = 'import gradlife, threading\ngradlife.on_oom("oom.json", limit=1 << 50)\n'
    source += "def work():\n    raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')\n"
    source += "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n"
    run(source, tmp_path)
    assert report_in(tmp_path / "oom.json")["cause"].startswith("RuntimeError: CUDA out of memory.")


def test_a_failure_of_the_devices_allocator_is_heard_before_the_program_catches_it(tmp_path: Path) -> None:
    observers: list[Any] = []
    waiting: list[Callable[[], None]] = []
    with_cuda = SimpleNamespace(_cuda_attach_out_of_memory_observer=observers.append)
    watching = gradlife.on_oom(tmp_path / "oom.json", limit=1 << 50)
    try:
        watching._observe(SimpleNamespace(_C=with_cuda, cuda=SimpleNamespace(_lazy_call=waiting.append)))
        watching._observe(SimpleNamespace(_C=SimpleNamespace()))  # a build without CUDA
        assert observers == []  # the program has not initialized CUDA yet
        [initialize] = waiting
        initialize()
        [failed] = observers
        failed(0, 2_000_000_000, 79_000_000_000, 1_000)
    finally:
        watching.close()
    assert report_in(tmp_path / "oom.json")["cause"] == (
        "CUDA out of memory on device 0: 2,000,000,000 bytes wanted, 1,000 bytes free"
    )


def test_a_failure_that_the_allocators_observer_has_reported_is_printed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second report has the traceback and takes the place of the first."""
    path = tmp_path / "oom.json"
    watching = gradlife.on_oom(path, limit=1 << 50)
    error = RuntimeError("CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 79.18 GiB.")
    try:
        watching._main_failed(RuntimeError, error, None)
        watching._device_failed(0, 2 << 20, 9, 5)
        watching._main_failed(RuntimeError, error, None)
        assert report_in(path)["cause"] == f"RuntimeError: {error}"
        watching._main_failed(MemoryError, MemoryError(), None)
    finally:
        watching.close()
    place = f"who has the memory is in {path}"
    assert capsys.readouterr().err.splitlines() == [
        f"gradlife: RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB: {place}",
        f"gradlife: CUDA out of memory on device 0: 2,097,152 bytes wanted, 5 bytes free: {place}",
        f"gradlife: MemoryError: {place}",
    ]


def test_growth_counts_all_types_of_one_name_together() -> None:
    """Some types have one name and one kind, as dict: all but the last were left out before, and counted as grown."""
    rows = [("dict", "python", 5, 500), ("dict", "python", 1, 10), ("list", "python", 3, 30)]
    start = SimpleNamespace(census=lambda: rows)
    now = SimpleNamespace(census=lambda: [*rows, ("dict", "python", 1, 7)])
    assert grown(start, now) == (Growth("dict", 1, 7),)  # type: ignore[arg-type]


def test_closing_takes_the_hooks_back(tmp_path: Path) -> None:
    before = sys.excepthook
    gradlife.on_oom(tmp_path / "oom.json", limit=1 << 50).close()
    assert sys.excepthook is before


def test_what_cannot_be_done_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        gradlife.on_oom(tmp_path / "missing" / "oom.json")
    with pytest.raises(UsageError, match="is no share"):
        gradlife.on_oom(tmp_path / "oom.json", at=90)


def test_a_folder_is_no_file_for_a_report(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        gradlife.on_oom(tmp_path)
