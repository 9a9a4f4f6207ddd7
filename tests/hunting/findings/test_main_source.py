"""What the source of the main module says of its steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.hunting.findings.main_source import program_of


def read(source: str, folder: Path) -> tuple[tuple[str, ...], bool]:
    path = folder / "main.py"
    path.write_text(source)
    found = program_of(compile(source, str(path), "exec"), str(path))
    return found.step_functions, found.trains


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def answer(): pass\nfor _ in range(3): answer()", ("answer",)),
        ("@torch.compile\ndef answer(): pass\nfor _ in range(3): answer()", ()),
        ("@torch.no_grad()\ndef answer(): pass\nfor _ in range(3): answer()", ("answer",)),
        ("@torch.inference_mode\n@torch.compile\ndef answer(): pass\nfor _ in range(3): answer()", ()),
        ('@app.get("/")\nasync def answer(): pass', ("answer",)),
        ('@cache.memoize("/")\ndef answer(): pass', ()),
        ("class H(http.server.BaseHTTPRequestHandler):\n def do_GET(self): pass\n def log(self): pass", ("H.do_GET",)),
        ("class Other(Base):\n def get(self): pass", ()),
    ],
)
def test_functions_that_loops_call_or_that_answer_requests_are_steps(
    source: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    assert read(source, tmp_path) == (names, False)


@pytest.mark.parametrize(
    "source", ["opt = torch.optim.SGD(p)\nopt.step()", "loss.backward()", "DataLoader(d)", "Trainer().fit(m)"]
)
def test_a_program_that_trains_makes_steps_of_its_own(source: str, tmp_path: Path) -> None:
    assert read(source, tmp_path) == ((), True)


@pytest.mark.parametrize(
    "source",
    [
        "from torch import optim",
        "from torch.optim import AdamW",
        "import torch.optim.adam",
        "def configure_optimizers(self): pass",
        "SFTTrainer(model=m).train()",
        "for x in train_dataloader: pass",
        "model.fit(x)",
    ],
)
def test_names_of_optimizers_loaders_and_trainers_mean_training(source: str, tmp_path: Path) -> None:
    assert read(source, tmp_path) == ((), True)


@pytest.mark.parametrize(
    "source",
    [
        "import torch  # optimized inference",
        "model = torch.jit.optimize_for_inference(model)",
        'del checkpoint["optimizer"]',
        '"""Backward compatible; no Trainer and no loss.backward()."""',
        "is_fit = backwards = optimum = retrain = 1",
    ],
)
def test_comments_texts_and_similar_words_do_not(source: str, tmp_path: Path) -> None:
    """A comment with "optimized" hid the steps of a script for 30 s."""
    assert read(source, tmp_path) == ((), False)


MADE = "optimizer = torch.optim.Adam(model.parameters())\n"


@pytest.mark.parametrize(
    ("source", "is_idle"),
    [
        (MADE, True),
        (f"{MADE}optimizer.load_state_dict(saved)", True),
        ("from torch.optim import AdamW\nopt: AdamW = AdamW(p)", True),
        (f"{MADE}optimizer.step()", False),
        (f"{MADE}train(model, optimizer)", False),
        (f"{MADE}optimizers = [optimizer]", False),
        (f"{MADE}batches = DataLoader(data)", False),
        (f"{MADE}loss.backward()", False),
        ("self.optimizer = torch.optim.Adam(p)", False),
        ("train(torch.optim.Adam(p))", False),
        ("x = 1", False),
    ],
)
def test_an_optimizer_that_is_never_stepped_nor_given_away_is_idle(source: str, is_idle: bool, tmp_path: Path) -> None:
    """The hunt waited 30 s for its steps: calls in a loop without gradients, which ended before, were not counted."""
    path = tmp_path / "main.py"
    path.write_text(source)
    found = program_of(compile(source, str(path), "exec"), str(path))
    assert found.has_idle_optimizer == is_idle
    assert found.trains == (not is_idle and source != "x = 1")


def test_a_file_that_cannot_be_read_names_nothing(tmp_path: Path) -> None:
    found = program_of(compile("1", "x", "exec"), str(tmp_path / "gone.py"))
    assert (found.step_functions, found.trains) == ((), False)
