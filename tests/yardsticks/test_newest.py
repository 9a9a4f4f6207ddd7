"""`make newest`: the page says what differs on a newer PyTorch, and nothing else."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import newest, upstream
from gradlife.backends.recorded import recording_names

RECORDED = "recorded:" + [name for name in recording_names() if name.startswith("torch-")][-1]
READING = {"scenario": "suite/story", "stage": "end", "subject": "ctx", "probe": "liveness"}
SIGN = {"name": "torch", "text": "9.0.0, for the CPU", "health": "well"}
DOCTOR: dict[str, Any] = {"sections": {"PyTorch": [SIGN], "This machine": [{"name": "ptrace", "health": "less"}]}}
STORIES: dict[str, Any] = {
    "totals": {"expectations_met": 1958, "contradictions": 0},
    "contradictions": [],
    "failures": [],
    "readings": [
        {**READING, "system": RECORDED, "value": "del", "status": ""},
        {**READING, "system": "torch", "value": "del", "status": "same"},
    ],
}
CORPUS: dict[str, Any] = {"runs": [{"slug": "list", "variant": "step", "outcome": "right"}]}
BUGS = [
    "torch 9.0.0",
    *(line for line in newest.STANDS.read_text("utf-8").splitlines() if "  stands " in line),
    "10 of 10 stand",
]
LEFT = {
    "sections": {
        "PyTorch": [SIGN],
        "Self check": [{"name": "grad_fn.next_functions", "text": "missing", "health": "less"}],
    }
}
CONTRADICTION = {**READING, "declared": "del", "got": "gc"}
CHANGED = {
    **STORIES,
    "contradictions": [CONTRADICTION],
    "readings": [STORIES["readings"][0], {**READING, "system": "torch", "value": "gc", "status": "differs"}],
}
WRONG = {
    "runs": [{"slug": "list", "variant": "step", "outcome": "missed", "verdict": "clean", "codes": [], "said": ""}]
}
Page = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Page:
    """Return the exit status and the page, with these answers in place of the commands'."""

    def run(
        doctor: Any = DOCTOR, stories: Any = STORIES, corpus: Any = CORPUS, bugs: Sequence[str] = BUGS
    ) -> tuple[int, list[str]]:
        answers = {"gradlife doctor": doctor, "gradlife run": stories, "benchmarks.corpus " + str(tmp_path): corpus}

        def run_python(python: str, *words: str) -> subprocess.CompletedProcess[str]:
            assert python == "python9"
            document = answers.get(" ".join(words[1:3]))
            if document is not None:
                Path(words[-1]).write_text(json.dumps(document), encoding="utf-8")
            return subprocess.CompletedProcess(words, 0, "\n".join(bugs), "no answer")

        monkeypatch.setattr(newest, "run_python", run_python)
        monkeypatch.setattr("sys.argv", ["newest", "--python", "python9", "--corpus", str(tmp_path)])
        status = newest.main()
        return status, capsys.readouterr().out.splitlines()

    return run


def test_a_release_in_which_nothing_differs_has_a_line_for_each_part(page: Page) -> None:
    assert page() == (
        0,
        [
            "doctor: torch 9.0.0, for the CPU; 1 of 1 signs are well",
            f"stories: 1,958 declarations met, 0 contradicted, beside {RECORDED}",
            "bugs of docs/upstream: 10 of 10 stand",
            "lifetime tests: not tried: --tests HARNESS SOURCE names them",
            "corpus: 1 of 1 variants as labelled",
            "0 differences",
        ],
    )


def test_what_differs_is_below_its_part(page: Page) -> None:
    mended = [line.replace("stands ", "mended ") if "setup_context" in line else line for line in BUGS]
    status, lines = page(LEFT, CHANGED, WRONG, mended)
    assert status == 1
    assert [line for line in lines if line.startswith("  ")] == [
        "  grad_fn.next_functions: missing",
        "  suite/story contradicts: ctx, liveness: declared del, got gc",
        "  suite/story at 'end': ctx, liveness: del, now gc",
        "  " + next(line.strip() for line in mended if "setup_context" in line),
        "  list step: missed: clean",
    ]
    assert lines[-1] == "5 differences"


def test_many_differences_are_counted_and_some_shown(page: Page) -> None:
    _, lines = page(stories={**STORIES, "contradictions": [CONTRADICTION] * 40})
    assert "  and 28 more" in lines
    assert len(lines) < 25


def test_a_command_without_an_answer_ends_the_page_with_its_last_words(page: Page) -> None:
    with pytest.raises(SystemExit, match=r"^no answer$"):
        page(doctor=None)


def test_the_known_state_of_each_bug_is_read_from_the_index() -> None:
    assert len(BUGS) == len(upstream.pages()) + 2
