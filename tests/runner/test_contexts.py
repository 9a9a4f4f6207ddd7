from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradlife.cli import main
from gradlife.errors import UnknownNameError
from gradlife.runner import api
from gradlife.runner.digest import digest_of
from gradlife.runner.discover import builtin_folder, discover
from gradlife.runner.worker.contexts import BrokenOff, backward_within, forward_within
from gradlife.scenario import COLLECTED, CONTEXTS, Expect, Lab, scenario

BUILT_IN = str(builtin_folder() / "contexts")
Captured = pytest.CaptureFixture[str]

STORY = '''
from gradlife.scenario import Expect, scenario


@scenario(
    title="run twice",
    contexts="plain thread reentrant",
    expects=[Expect("x", "gc", within="thread"), Expect("x", "del")],
)
def one_step(lab):
    """In a thread, and not."""

    def forward(size):
        x = lab.tensor(size)
        if lab.context == "thread":
            x.itself = x
        lab.watch_first("x", x)
        lab.watch_first("x", forward)
        return x

    x = lab.forward(forward, 4)
    lab.stage("made")
    del x
    lab.stage("gone", all_names_gone=True)


@scenario(title="run once")
def once(lab):
    """Plainly."""
    lab.value("x", 1)
    lab.stage("end")
'''


@pytest.fixture(autouse=True)
def _forget_collected() -> None:
    globals().pop(COLLECTED, None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "twice.py"
    path.write_text(STORY, encoding="utf-8")
    return path


def test_a_story_becomes_a_scenario_for_each_context_with_what_is_declared_within() -> None:
    @scenario(
        title="t", needs="hooks", contexts="plain checkpoint", expects=[Expect("x", 1, within="check*"), Expect("x", 2)]
    )
    def story(lab: Lab) -> None: ...

    made = globals()[COLLECTED]
    assert made[0] is story
    assert [(one.name, one.context, one.needs) for one in made] == [
        ("story[plain]", "plain", "hooks"), ("story[checkpoint]", "checkpoint", "hooks checkpoint_by_hooks"),
    ]  # fmt: skip
    assert [[expect.value for expect in one.expects] for one in made] == [[2], [1, 2]]


def test_an_unknown_context_is_refused() -> None:
    with pytest.raises(ValueError, match="story names the context 'under_water', which is none of: plain, no_grad"):

        @scenario(title="t", contexts="plain under_water")
        def story(lab: Lab) -> None: ...


def test_a_story_is_found_by_its_name_and_by_that_of_one_context(file: Path) -> None:
    assert [one.info.name for one in discover([f"{file}::one_step"])] == [
        "one_step[plain]",
        "one_step[thread]",
        "one_step[reentrant]",
    ]
    assert [one.info.name for one in discover([f"{file}::one_step[thread]"])] == ["one_step[thread]"]
    with pytest.raises(UnknownNameError):
        discover([f"{file}::one_step[no_grad]"])


def test_each_context_has_a_digest_of_its_own(file: Path) -> None:
    result = discover([f"{file}::one_step"])
    assert len({digest_of(one.path, one.info) for one in result}) == 3


def test_each_context_is_run_and_judged_by_itself(file: Path) -> None:
    report = api.run([str(file)], backends=["fake"])
    outcomes = {run.scenario.partition("/")[2]: run.outcome for run in report.runs}
    assert outcomes == {
        "one_step[plain]": "ok",
        "one_step[thread]": "ok",
        "one_step[reentrant]": "not available",
        "once": "ok",
    }
    assert [(one.scenario[-8:], one.got) for one in report.expectations if one.verdict == "met"] == [
        ("p[plain]", "del"), ("[thread]", "gc"),
    ]  # fmt: skip
    assert report.contradictions == ()


def test_the_matrix_has_a_row_a_system_and_a_column_a_context(file: Path, capsys: Captured) -> None:
    assert main(["run", "--matrix", str(file), "--backend", "fake", "fake:fake-leaky"]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["plain", "entrant", "thread"] in lines
    assert ["fake", "del", "-", "gc"] in lines
    assert ["fake:fake-leaky", "never!", "-", "never!"] in lines
    assert "once" not in [word for line in lines for word in line]


def test_the_matrix_is_written_as_a_run_of_those_stories(file: Path, capsys: Captured) -> None:
    assert main(["run", "--matrix", str(file), "-k", "one_step and not plain", "--backend", "fake", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["context"] for one in document["scenarios"]] == ["thread", "reentrant"]


def test_stories_without_contexts_have_no_matrix(file: Path, capsys: Captured) -> None:
    assert main(["run", "--matrix", f"{file}::once", "--backend", "fake"]) == 2
    assert "none of these stories runs in several contexts" in capsys.readouterr().err


def test_the_built_in_matrix_has_every_context_and_a_control() -> None:
    result = api.select([BUILT_IN])
    assert {info.context for info in result} == set(CONTEXTS)
    assert len(result) == 5 * len(CONTEXTS)
    assert {info.family for info in result if not info.pattern} == {"step_without_a_knot"}


@pytest.mark.parametrize("profile", ["torch-1.1", "torch-1.10", "torch-2.13", "oneflow-0.9"])
def test_the_engine_does_in_every_context_what_is_declared(profile: str) -> None:
    pytest.importorskip("gradlife._engine")
    report = api.run([BUILT_IN], backends=[f"mini:{profile}"])
    assert report.contradictions == ()
    assert report.failures == ()


class Output:
    """Stands for a tensor whose backward calls its hooks."""

    requires_grad = True

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.hooks: list[object] = []

    def sum(self) -> Output:
        return self

    def register_hook(self, hook: object) -> None:
        self.hooks.append(hook)

    def backward(self) -> None:
        self.calls.append("backward")
        for hook in self.hooks:
            hook(None)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("context", "calls"), [("plain", 1), ("thread", 1), ("skipped", 0), ("no_grad", 0), ("exception", 1)]
)
def test_a_backward_is_run_skipped_or_broken_off(context: str, calls: int) -> None:
    output = Output()
    backward_within(context, output)
    assert (len(output.calls), len(output.hooks)) == (calls, int(context == "exception"))


def test_what_raises_in_its_thread_ends_the_story(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise BrokenOff

    monkeypatch.setattr("threading.excepthook", lambda _: None)
    with pytest.raises(RuntimeError, match="the function raised in its thread"):
        forward_within("thread", None, broken, ())
