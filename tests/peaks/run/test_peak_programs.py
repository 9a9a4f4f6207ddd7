"""Programs under `gradlife peak` and `gradlife.peak`: what is found, and what the program sees of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import gradlife
from gradlife.cli import main
from gradlife.model.peak import codec
from gradlife.model.peak.report import Owner, Use
from written import report_in

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

TRAIN = """\
import sys
import torch
import torch.nn.functional as F

torch.manual_seed(0)


def main():
    net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4000))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(12):
        logits = net(torch.ones(128, 16))
        loss = F.cross_entropy(logits, torch.zeros(128, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("done", step, sys.argv[1:])
    {end}


main()
"""


BEST = """\
import torch

net = torch.nn.Linear(200, 200)
opt = torch.optim.SGD(net.parameters(), 0.01)
first = torch.optim.Adam(net.parameters())
best = {}


def step():
    net(torch.randn(8, 200)).square().mean().backward()
    opt.step()
    opt.zero_grad()
    best["weights"] = {name: value.clone() for name, value in net.state_dict().items()}


def restore():
    net.load_state_dict(best["weights"])


net(torch.randn(8, 200)).mean().backward()
first.step()
opt.zero_grad()
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradlife", "peak", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)


@pytest.mark.whole
def test_logits_that_a_name_holds_through_backward_are_found(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.format(end="pass"))
    done = run(tmp_path, "--json", "out.json", "--fail-on", "5%", "train.py", "some", "--words")
    assert (done.returncode, done.stdout) == (1, "done 11 ['some', '--words']\n")
    report = codec.loads((tmp_path / "out.json").read_text())
    [saving] = report.savings
    assert saving.holder.startswith("local logits of main")
    assert (saving.bytes, saving.storages, saving.born.place.line) == (128 * 4000 * 4, 1, 12)
    assert saving.last_read is not None
    assert saving.last_read.place.line == 13
    assert saving.saved_bytes == 128 * 4000 * 4
    assert report.script_status == 0
    assert report_in(done.stderr).startswith("DRAG  train.py: peak of")


@pytest.mark.whole
def test_the_program_keeps_its_status(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.format(end="sys.exit(7)"))
    assert run(tmp_path, "train.py").returncode == 7


def test_a_signal_that_ends_the_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
    done = run(tmp_path, "train.py")
    assert (done.returncode, report_in(done.stderr)) == (
        137,
        "gradlife: SIGKILL ended the program before it left a report\n",
    )


#: Leaves the folder in which it was started, and trains in a thread.
MOVES = """\
import os
import threading
import torch

net = torch.nn.Linear(16, 2000)
opt = torch.optim.SGD(net.parameters(), 0.1)
os.makedirs("elsewhere", exist_ok=True)
os.chdir("elsewhere")

def train():
    for _ in range(12):
        logits = net(torch.ones(256, 16))
        loss = torch.nn.functional.cross_entropy(logits, torch.zeros(256, dtype=torch.long))
        opt.zero_grad()
        loss.backward()
        opt.step()
    assert not torch.utils._python_dispatch._get_current_dispatch_mode_stack()

thread = threading.Thread(target=train)
thread.start()
thread.join()
"""


@pytest.mark.whole
def test_a_program_that_trains_in_a_thread_and_another_folder_is_proven(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(MOVES)
    done = run(tmp_path, "--prove", "--json", "-", "train.py")
    report = codec.loads(done.stdout)
    assert [edit.file for saving in report.savings for edit in saving.edits] == [str(tmp_path / "train.py")]
    assert report.savings[0].edits[0].patch.startswith("--- a/train.py\n+++ b/train.py\n")
    assert report.proof is not None
    assert (report.proof.trouble, report.proof.edits) == ("", 1)


@pytest.mark.whole
def test_a_recording_of_a_thread_that_is_gone_ends_without_an_error(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(MOVES.replace("range(12)", "range(5)").replace("    assert", "    0 and"))
    done = run(tmp_path, "train.py")
    assert (done.returncode, done.stdout) == (3, "")
    [line] = " ".join(report_in(done.stderr).split()).splitlines()
    assert line.startswith("could not tell train.py: the program ended after 5 optimizer steps; a peak needs 6")


@pytest.mark.whole
def test_a_program_is_stopped_after_the_steps_that_were_asked_for(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.format(end="pass"))
    done = run(tmp_path, "--steps", "6", "--json", "-", "train.py")
    assert done.returncode == 0
    assert json.loads(done.stdout)["steps"] == 3


@pytest.mark.whole
def test_a_program_without_steps_has_no_peak(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('hello')\n")
    done = run(tmp_path, "train.py")
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert report_in(done.stderr).startswith("could not tell  train.py: no step was seen")


@pytest.mark.whole
def test_a_program_that_fails_before_its_first_step_is_said_to_have_failed(tmp_path: Path) -> None:
    """A missing import was reported as a program in which no optimizer fires."""
    (tmp_path / "train.py").write_text("import nowhere\n")
    done = run(tmp_path, "train.py")
    assert done.returncode == 1
    said = (
        "could not tell train.py: the program ended with ModuleNotFoundError after 0 counted steps; a peak needs five"
    )
    assert " ".join(done.stderr.split()).endswith(said)


def test_a_program_that_is_not_there_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["peak", "nowhere.xyz"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("words", ["101", "x", "-3"])
def test_percentages_are_checked(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["peak", "--fail-on", words, "train.py"]) == 2


def held_input() -> None:
    import torch

    big = torch.ones(100_000)
    total = big.sum()
    work = torch.ones(80_000) + total
    del work


def freed_input() -> None:
    import torch

    big = torch.ones(100_000)
    total = big.sum()
    del big
    work = torch.ones(80_000) + total
    del work


@pytest.mark.whole
def test_a_local_variable_that_is_not_read_again_is_found_and_its_saving_is_what_the_edit_saves() -> None:
    before, after = gradlife.peak(held_input), gradlife.peak(freed_input)
    [saving] = before.savings
    assert saving.holder.startswith("local big of held_input")
    assert saving.peak_after == after.peak_bytes
    assert after.savings == ()


@pytest.mark.whole
def test_a_function_gets_its_number_and_is_called_five_times() -> None:
    seen: list[int] = []

    def step(number: int) -> None:
        import torch

        seen.append(number)
        torch.ones(3)

    report = gradlife.peak(step)
    assert (seen, report.steps, report.warmup_steps, report.operations) == ([0, 1, 2, 3, 4], 3, 2, 1)


def keep_outputs(keeps: bool) -> None:
    """Four micro-batches; a list keeps each output to the end of the step."""
    import torch

    outs = []
    for number in range(4):
        out = torch.ones(50_000) * number
        loss = (out * 2).sum()
        if keeps:
            outs.append(out)
        del out
        del loss


@pytest.mark.whole
def test_a_list_of_outputs_saves_what_it_saves_without_them() -> None:
    before = gradlife.peak(lambda: keep_outputs(True))
    after = gradlife.peak(lambda: keep_outputs(False))
    assert before.savings[0].holder.startswith("local outs[*] of keep_outputs")
    assert (before.savings[0].storages, before.savings[-1].peak_after) == (3, after.peak_bytes)
    assert after.savings == ()


#: Memory that is shared with numpy, then memory that an attribute of an object and a name hold. In a process of its own:
#: what other tests left would count, and a look at the holders reads all that there is.
MEASURED = """\
import gradlife, torch

class Output:
    pass

def shared_with_numpy():
    array = torch.ones(100_000).numpy()
    one, other = torch.from_numpy(array), torch.from_numpy(array)
    (one.sum() + other.sum()).item()

def two_names(lets_go):
    output = Output()
    output.logits = torch.ones(90_000)
    logits = output.logits
    loss = logits.sum()
    if lets_go:
        del output, logits
    work = torch.ones(80_000) + loss

print(gradlife.peak(shared_with_numpy).peak_bytes)
before, after = gradlife.peak(lambda: two_names(False)), gradlife.peak(lambda: two_names(True))
for one in before.savings:
    print(one.saved_bytes == before.peak_bytes - after.peak_bytes, one.peak_after == after.peak_bytes)
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the program says."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "program.py").write_text(MEASURED)
    command = [sys.executable, "program.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()


def test_memory_that_is_shared_with_numpy_counts_once(measured: list[str]) -> None:
    assert int(measured[0]) < 1.1 * 400_000


def test_an_attribute_and_a_name_are_let_go_of_together(measured: list[str]) -> None:
    assert measured[1:] == ["True True"]


@pytest.mark.whole
def test_a_program_that_keeps_its_best_weights_and_a_first_optimizer_has_nothing_to_save(tmp_path: Path) -> None:
    (tmp_path / "best.py").write_text(BEST)
    assert run(tmp_path, "--json", "out.json", "best.py::step").returncode == 0
    report = codec.loads((tmp_path / "out.json").read_text())
    weights = (200 * 200 + 200) * 4
    assert report.savings == ()
    assert [(row.holder, row.owner, row.bytes, row.steps) for row in report.unread] == [
        ("state of first", Owner.OPTIMIZER, 2 * weights + 8, 3),
        (report.unread[1].holder, Owner.NAMED, weights, 3),
    ]
    assert report.unread[1].holder.startswith("global best['weights'][*] of ")
    assert report.uses[Use.UNREAD] == 3 * weights + 8


@pytest.mark.whole
def test_steps_in_a_thread_end_the_program_too(tmp_path: Path) -> None:
    """They ended the thread alone, and the program went on."""
    waits = MOVES.replace("range(12)", "range(10_000)").replace("thread.join()", "threading.Event().wait()")
    (tmp_path / "train.py").write_text(waits)
    done = run(tmp_path, "--steps", "6", "--json", "-", "train.py")
    assert (done.returncode, json.loads(done.stdout)["steps"]) == (0, 3)


#: Leaves a process that holds all its descriptors but the standard ones, and is killed.
LEAVES = """\
import os, signal, time
left = os.fork()
if left == 0:
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    time.sleep(600)
    os._exit(0)
with open("left", "w") as file:
    file.write(str(left))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.whole
def test_a_process_that_the_killed_program_left_is_not_waited_for(tmp_path: Path) -> None:
    """It holds the channel to the command, which waited for its end."""
    (tmp_path / "train.py").write_text(LEAVES)
    assert run(tmp_path, "train.py").returncode == 137
    os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)  # it is still there
