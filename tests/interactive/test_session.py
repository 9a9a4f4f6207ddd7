"""The prompt: scripted lines in, what a user reads out."""

from __future__ import annotations

import functools
import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabricated_hunts import LEAKING, LOSSES, WAITING, hunt
from gradlife.errors import UsageError
from gradlife.heap import Snapshot, open_snapshot, snapshot
from gradlife.interactive.heap_source import SavedPatient
from gradlife.interactive.session import VERBS, Session
from gradlife.interactive.terminal import history_path
from gradlife.model.hunt import Amounts, Finding, HuntReport, Round
from gradlife.model.trace import Trace
from sources import ROOT


class Shelf:
    def __init__(self) -> None:
        self.parcels = [f"box {number}" * 3 for number in range(10)]


SHELF = Shelf()


@functools.cache
def heap() -> Snapshot:
    """One for all tests."""
    return snapshot()


class FakePatient:
    """A program that has stopped, made up."""

    title = "train.py has stopped"
    rounds: tuple[Round, ...] = ()

    def __init__(self, report: HuntReport | None) -> None:
        self.report = report
        self.done: list[str] = []

    @property
    def snapshot(self) -> Snapshot:
        return heap()

    def why(self, expression: str) -> Trace | None:
        if expression != "run.history":
            raise UsageError(f"{expression!r} gives NameError", "a type")
        return LOSSES.trace

    def step(self, count: int) -> None:
        self.done.append(f"step {count}")

    def cut(self, finding: Finding) -> str:
        self.done.append("cut")
        return "items of .history dropped"


def talk(patient: FakePatient | SavedPatient, *lines: str) -> tuple[Session, list[str]]:
    """The session after these lines, and what it said to them."""
    out = io.StringIO()
    session = Session(patient, io.StringIO("".join(f"{line}\n" for line in lines)), out)
    session.cmdloop()
    text = out.getvalue().replace("(gradlife) ", "\n")
    return session, [line for line in text.splitlines() if line.strip()]


def said(*lines: str, patient: FakePatient | None = None) -> str:
    """Return the output after the greeting, in one line."""
    answer = talk(patient or FakePatient(hunt(LOSSES, WAITING)), *lines)[1]
    return " ".join(" ".join(answer[2:]).split())


def test_leaks_are_numbered_and_a_number_shows_one_in_full() -> None:
    assert said("leaks").startswith("1 GL402 A list of losses keeps the graph of each grows in every round")
    assert "2 GL505" in said("leaks")
    text = said("why 1")
    assert text.startswith("Problem 1 of 2 GL402 A list of losses keeps the graph of each")
    assert "What to do: Keep the number, not the tensor." in text
    assert "├─ list len 20" in text


def test_refs_and_cycle_of_a_leak() -> None:
    assert said("refs 1") == "Tensor float32 [] 1 reference, known: list len 20: [17]"
    assert said("cycle 2").startswith("╭→ Pooler │ .impl")
    assert said("cycle 1") == "No cycle keeps it: a root reaches it, or nothing refers to it."


@pytest.mark.whole
def test_types_retained_and_why_ask_the_heap() -> None:
    assert "Types that take most" in said("types 3")
    assert "test_session.Shelf" in said("retained Shelf")
    assert "Held by the program" in said("retained")
    assert "Objects that retain most" in said("retained 3")
    assert said("why Shelf").startswith("Shelf is held: a root reaches it")
    assert said(f"why {id(SHELF):#x}").startswith("Shelf is held: a root reaches it")


def test_python_is_evaluated_where_no_type_has_that_name() -> None:
    assert said("why run.history").startswith("Tensor float32 [] is held")
    assert said("why nowhere.else") == "'nowhere.else' gives NameError (try: a type)"


def test_cut_and_step_reach_the_program() -> None:
    patient = FakePatient(LEAKING)
    session, answer = talk(patient, "cut 1", "step 5", "leaks")
    assert patient.done == ["cut", "step 5"]
    assert session.steps_wanted == 5
    assert answer[-1] == "items of .history dropped"


def test_what_steps_added_is_reported_when_the_program_comes_back() -> None:
    patient = FakePatient(LEAKING)
    patient.rounds = (Round(5, Amounts(objects=5)), Round(5, Amounts()))
    assert talk(patient, "quit")[1] == [
        "train.py has stopped",
        "  round  steps  objects  objects/step",
        "      1      5       +5             1",
        "      2      5        .             0",
    ]


def test_quit_continue_and_the_end_of_the_input_leave_without_a_step() -> None:
    for words in (["quit"], ["continue"], []):
        assert talk(FakePatient(LEAKING), *words)[0].steps_wanted == 0


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("wy 1", "unknown verb 'wy' (try: why)"),
        ("why", "of what? (try: a leak's number, an address, a type)"),
        ("why 7", "there are 2 leaks, 7 is none of them (try: leaks)"),
        ("cut", "which leak? (try: cut 1)"),
        ("step five", "'five' is no number (try: a number, as in `step 5`)"),
        ("types 0", "'0' is no number (try: a number, as in `step 5`)"),
        ("save", "save where? (try: save FILE)"),
        ("why 0x10", "no object stands at 0x10 in this snapshot (try: gradlife open FILE --instances TYPE)"),
    ],
)
def test_what_goes_wrong_is_one_line_and_the_session_goes_on(line: str, answer: str) -> None:
    assert said(line) == answer
    assert said(line, "leaks").endswith(said("leaks"))


def test_ctrl_c_at_the_prompt_abandons_the_line_and_not_the_program() -> None:
    """It ended the hunted program, which had stopped there."""

    presses = [KeyboardInterrupt()]

    def readline() -> str:
        if presses:
            raise presses.pop()
        return "step 7\n"

    patient, out = FakePatient(LEAKING), io.StringIO()
    keyboard: Any = SimpleNamespace(readline=readline)
    session = Session(patient, keyboard, out)
    session.cmdloop()
    assert (patient.done, session.steps_wanted, out.getvalue().count("train.py has stopped")) == (["step 7"], 7, 1)


@pytest.mark.parametrize("line", ["why 0123", "retained 99999999999999999999", f"why {'9' * 20}"])
def test_a_number_that_is_none_is_one_line(line: str) -> None:
    out = io.StringIO()
    session = Session(FakePatient(LEAKING), io.StringIO(f"{line}\nquit\n"), out)
    session.cmdloop()
    assert "Traceback" not in out.getvalue()


def test_help_has_every_verb_with_what_it_answers() -> None:
    text = said("help")
    assert [name for name in VERBS if f" {name}" not in f" {text}"] == []
    assert said("help save").startswith("save FILE save the heap as a snapshot file")
    assert said("help nonsense") == "unknown verb 'nonsense' (try: continue)"


def test_verbs_numbers_and_types_are_completed() -> None:
    session = Session(FakePatient(LEAKING))
    assert session.completenames("c") == ["cycle", "cut", "continue"]
    assert "Shelf" in session.completedefault("She")
    assert session.completedefault("1") == ["1"]


def test_an_empty_line_does_nothing() -> None:
    assert said("", "leaks") == said("leaks")


# --- a file ---


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("session") / "shelf.glheap")
    heap().save(path)
    return path


@pytest.mark.whole
def test_a_file_answers_the_same_verbs(file: str) -> None:
    answer = talk(SavedPatient(file), "leaks", "why Shelf", "retained Shelf", "cycle")[1]
    assert answer[0].startswith(f"{file}: ")
    assert "What grows takes two snapshots, gradlife diff, or gradlife hunt." in answer
    assert "Shelf is held: a root reaches it" in answer


@pytest.mark.whole
def test_in_a_file_objects_are_found_by_name_and_asked_for_by_it(file: str) -> None:
    answer = talk(SavedPatient(file), "find SHELF", "why SHELF", "refs parcels", "why no.such.name", "find")[1]
    assert "Objects that retain most (what would be freed with each)" in [
        line.removeprefix("(gradlife) ") for line in answer
    ]
    assert "Shelf is held: a root reaches it" in answer
    assert "  Shelf: .parcels" in answer
    assert answer[-2].startswith("unknown type 'no.such.name' (try: ")
    assert answer[-1] == "find what? (try: find cache)"


@pytest.mark.whole
@pytest.mark.parametrize("verb", ["cut 1", "step 5", "cut"])
def test_a_file_says_what_needs_the_process(file: str, verb: str) -> None:
    answer = talk(SavedPatient(file), verb)[1][-1]
    expected = f"'{verb.split()[0]}' needs the live process, and this is a file (try: gradlife hunt -i TARGET)"
    assert answer in (expected, "no leak has a number here, 1 is none of them (try: leaks)")


@pytest.mark.whole
def test_what_is_saved_can_be_opened(file: str, tmp_path: Path) -> None:
    other = tmp_path / "other.glheap"
    answer = talk(SavedPatient(file), f"save {other}")[1]
    assert answer[-1] == f"saved: gradlife open {other} -i"
    assert open_snapshot(other).objects == open_snapshot(file).objects


@pytest.mark.whole
def test_open_i_asks_at_a_prompt(file: str) -> None:
    command = [sys.executable, "-m", "gradlife", "open", file, "-i"]
    done = subprocess.run(command, input="why Shelf\n", capture_output=True, text=True, timeout=900, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert "(gradlife) Shelf is held: a root reaches it\n" in done.stdout


def test_history_is_kept_where_a_users_state_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert history_path() == "/state/gradlife/history"


# --- a program ---

PROGRAM = """
import torch
class Run:
    def __init__(self):
        self.history, self.total = [], 0.0
run = Run()
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(400):
    loss = model(torch.rand(4, 8)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    LEAK
print("the end", number)
"""


@pytest.mark.whole
@pytest.mark.torch
@pytest.mark.parametrize(
    ("leak", "what", "cut"),
    [
        ("run.history.append(loss)", "run.history[3]", "new items of run.history dropped after each step"),
        # It was missed, or shown without its tensor, by chance: by the address of the tensor that each step replaces.
        # Among the slow tests until 60 runs of 60 on a busy machine have been right since that was mended.
        pytest.param(
            *("run.total = run.total + loss", "run.total", "run.total detached after each step"), marks=pytest.mark.slow
        ),
    ],
)
def test_a_program_stops_at_its_leak_which_ends_with_the_cut(tmp_path: Path, leak: str, what: str, cut: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(PROGRAM.replace("LEAK", leak), encoding="utf-8")
    lines = ["leaks", f"why {what}", "step 7", "cut 1", "step 7", "step 7", "quit"]
    command = [sys.executable, "-m", "gradlife", "hunt", "-i", str(script)]
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=900, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "Tensor float32 [] is held: a root reaches it" in done.stdout
    assert cut in done.stdout
    assert done.stdout.splitlines()[-1] == "(gradlife) the end 399"
    lines = done.stdout.splitlines()
    at = max(number for number, line in enumerate(lines) if "round  steps" in line)
    end = lines[at].index("nodes") + len("nodes")
    nodes = [row[:end].split()[-1] for row in lines[at + 1 : at + 4]]
    assert nodes[0] != "."
    assert nodes[2] == "."
