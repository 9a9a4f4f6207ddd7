"""`gradlife snapshot`: the moment at which it is taken, by the program that it is taken of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradlife.heap import open_snapshot
from gradlife.heap.views.program_objects import ProgramObjects

#: Two classes, as a program's own; what follows holds 500 rows.
BEGINNING = """
import argparse, asyncio, functools, sys, threading

class History:
    def __init__(self):
        self.rows = []

class Trainer:
    def __init__(self, history):
        self.history = history
    def fit(self):
        extra = [str(number) * 20 for number in range(100)]
        for number in range(500):
            self.history.rows.append(str(number) * 10)

def helper():
    return [str(number) for number in range(50)]
"""

#: For each program its exit status, the moment, and the variable that holds the rows.
PROGRAMS: dict[str, tuple[str, int, str, str]] = {
    "arguments of main": (
        """
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=3)
    args = parser.parse_args()
    history = History()
    Trainer(history).fit()

if __name__ == "__main__":
    main()
""",
        0,
        "main() returned",
        "history.rows in main()",
    ),
    "a method": ("Trainer(History()).fit()", 0, "Trainer.fit() returned", "self.history.rows in Trainer.fit()"),
    "an error": (
        """
def main():
    history = History()
    Trainer(history).fit()
    raise ValueError("no stock")

main()
""",
        1,
        "main() raised ValueError",
        "history.rows in main()",
    ),
    "sys.exit in main": (
        """
def main():
    history = History()
    Trainer(history).fit()
    sys.exit(7)

main()
""",
        7,
        "main() returned",
        "history.rows in main()",
    ),
    "the status of main": (
        """
def main():
    history = History()
    Trainer(history).fit()
    return 7

sys.exit(main())
""",
        7,
        "main() returned",
        "history.rows in main()",
    ),
    "asyncio": (
        """
async def rows(history):
    await asyncio.sleep(0)
    Trainer(history).fit()

async def main():
    history = History()
    await asyncio.gather(rows(history), asyncio.sleep(0.01))
    await asyncio.sleep(0)

asyncio.run(main())
""",
        0,
        "main() returned",
        "history.rows in main()",
    ),
    "a decorated main": (
        """
def timed(function):
    return functools.lru_cache(maxsize=None)(function)

@timed
def main():
    history = History()
    Trainer(history).fit()

main()
print("done")
""",
        0,
        "main() returned",
        "history.rows in main()",
    ),
    "a decorator of the program": (
        """
def retry(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner

@retry
def main():
    history = History()
    Trainer(history).fit()
    return 0

if __name__ == "__main__":
    code = main()
    print("done")
    raise SystemExit(code)
""",
        0,
        "main() returned",
        "history.rows in main()",
    ),
    "a closure": (
        """
def main():
    history = History()
    def inner():
        Trainer(history).fit()
    inner()

main()
""",
        0,
        "main() returned",
        "history.rows in main()",
    ),
    "called by a library": (
        """
def main(number):
    history = History()
    Trainer(history).fit()
    return 0

def then(number):
    return 1

functools.reduce(lambda a, b: a, [1])
map_of = functools.partial(main, 1)
asyncio.new_event_loop().run_until_complete(asyncio.to_thread(len, ""))
map_of()
""",
        0,
        "main() returned",
        "history.rows in main()",
    ),
    "a script without functions": (
        "history = History()\nTrainer(history).fit()\nfor number in range(3):\n    helper()\n",
        0,
        "the program ended",
        "history.rows",
    ),
    "a function that is called first": (
        "history = History()\nparts = helper()\nif parts:\n    Trainer(history).fit()\nlast = 1\n",
        0,
        "the program ended",
        "history.rows",
    ),
    "one function after the other": (
        """
def set_up():
    rows = [0]

def main():
    history = History()
    for _ in range(200):
        Trainer(history).fit()

def clean_up():
    small = list(range(5))

set_up()
main()
clean_up()
""",
        0,
        "main() returned",
        "history.rows in main()",
    ),
    "a thread that waits for a variable": (
        """
import time, weakref
def main():
    history = History()
    Trainer(history).fit()
    known = weakref.ref(history)
    def wait():
        while known() is not None:
            time.sleep(0.01)
    threading.Thread(target=wait).start()

main()
""",
        0,
        "main() returned",
        "history.rows in main()",
    ),
    "a caught error": (
        """
def main():
    history = History()
    Trainer(history).fit()
    raise KeyError

try:
    main()
except KeyError:
    print("no")
finally:
    print("end")
""",
        0,
        "main() returned",
        "history.rows in main()",
    ),
    "an immediate end": (
        """
def main():
    import os
    history = History()
    Trainer(history).fit()
    os._exit(5)

main()
""",
        5,
        "os._exit() ended the program",
        "history.rows in main()",
    ),
}


def taken(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(source, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "gradlife", "snapshot", "-o", "x.glheap", *options, "train.py"],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=900,
        env={**os.environ, "COLUMNS": "100"},
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_variables_of_the_outermost_function_are_in_the_snapshot(program: str, tmp_path: Path) -> None:
    source, status, moment, name = PROGRAMS[program]
    done = taken(tmp_path, BEGINNING + source)
    assert (done.returncode, f"in x.glheap, taken when {moment}" in done.stderr) == (status, True), done.stderr
    snapshot = open_snapshot(tmp_path / "x.glheap")
    assert dict(snapshot.notes)["moment"] == moment
    assert ProgramObjects(snapshot).rows(1)[0].name == name
    assert "gradlife/program" not in done.stderr


def test_what_is_left_of_a_program_without_variables_is_said(tmp_path: Path) -> None:
    done = taken(tmp_path, "print('done')")
    assert "nothing of the program is in it" in done.stderr
    assert "--at-step" in done.stderr


STEPS = """
def step(rows, number):
    rows.append("x" * 5000)

def main():
    rows = []
    for number in range(9):
        step(rows, number)
    print(len(rows))

main()
"""


@pytest.mark.parametrize(
    ("options", "moment", "rows", "trouble"),
    [
        (["--at-step", "4"], "step 4 ended (call of step)", 4, ""),
        (["--at-step", "2"], "step 2 ended (call of step)", 2, ""),
        ([], "main() returned, after 9 steps (call of step)", 9, ""),
        (
            ["--at-step", "10"],
            "main() returned, after 9 steps (call of step)",
            9,
            "gradlife: step 10 did not come: the program took 9 steps\n",
        ),
    ],
)
def test_a_step_may_be_the_moment(options: list[str], moment: str, rows: int, trouble: str, tmp_path: Path) -> None:
    done = taken(tmp_path, STEPS, "--step-on", "__main__:step", *options)
    assert (done.returncode, done.stdout) == (0, "9\n")
    assert f"taken when {moment}\n" in done.stderr
    assert trouble in done.stderr
    snapshot = open_snapshot(tmp_path / "x.glheap")
    (first, *_) = ProgramObjects(snapshot).rows(1)
    assert (first.name, first.object.detail) == ("rows in main()", f"len {rows}")


def test_no_step_is_one_line(tmp_path: Path) -> None:
    done = taken(tmp_path, BEGINNING + "main = helper\nmain()\n", "--at-step", "3")
    assert (
        "gradlife: step 3 did not come: no step was seen; --step-on MODULE:FUNCTION counts calls of a function\n"
        in (done.stderr)
    )


TRAINING = """
import torch

def main():
    model = torch.nn.Linear(50, 50)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for number in range(9):
        hidden = model(torch.ones(1000, 50)).relu()
        loss = hidden.sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        del hidden
        losses.append(loss)
    print(len(losses))

main()
"""


@pytest.mark.parametrize(
    ("options", "moment", "losses"),
    [
        (["--at-step", "5"], "step 5 ended (SGD.step)", 4),
        ([], "main() returned, after 9 steps (SGD.step)", 9),
    ],
)
def test_steps_are_those_of_a_hunt(options: list[str], moment: str, losses: int, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = taken(tmp_path, TRAINING, *options)
    assert (done.returncode, done.stdout) == (0, "9\n")
    assert f"taken when {moment}\n" in done.stderr
    snapshot = open_snapshot(tmp_path / "x.glheap")
    assert snapshot.why("losses").detail == f"len {losses}"


def test_the_peak_of_a_step_may_be_the_moment(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = taken(tmp_path, TRAINING, "--at-peak")
    assert (done.returncode, done.stdout) == (0, "9\n")
    assert "taken when memory was at the peak of a step (SGD.step)\n" in done.stderr
    snapshot = open_snapshot(tmp_path / "x.glheap")
    assert snapshot.why("model").object == "Linear"
    assert sum(snapshot.devices().values()) >= 2 * 1000 * 50 * 4  # the input and what comes of it


def test_two_moments_are_refused(tmp_path: Path) -> None:
    done = taken(tmp_path, STEPS, "--at-peak", "--at-step", "3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gradlife: error: --at-step and --at-peak are two moments (try: one of them)\n"
