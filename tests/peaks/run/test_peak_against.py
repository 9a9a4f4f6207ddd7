"""`gradlife peak --against before.json`: the gate of a pull request."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gradlife.cli import main

TRAIN = """\
import torch
import torch.nn.functional as F

net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4000))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
kept = {}


def loss_of(x):
    logits = net(x)
    return F.cross_entropy(logits, torch.zeros(len(x), dtype=torch.long))


for _ in range(12):
    optimizer.zero_grad()
    loss_of(torch.ones(128, 16)).backward()
    optimizer.step()
"""
KEEPS = TRAIN.replace("    return", '    kept["logits"] = logits\n    return')


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradlife", "peak", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)


@pytest.mark.whole
@pytest.mark.torch
def test_logits_that_live_through_backward_are_a_regression(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(TRAIN)
    assert run(tmp_path, "--json", "before.json", "train.py").returncode == 0
    same = run(tmp_path, "--against", "before.json", "--fail-on", "0%", "train.py")
    assert (same.returncode, "no regression  train.py: peak of" in same.stderr) == (0, True)

    (tmp_path / "train.py").write_text(KEEPS)
    words = ("--fail-on", "5%", "--json", "after.json", "--markdown", "after.md")
    larger = run(tmp_path, "--against", "before.json", *words, "train.py")
    assert larger.returncode == 1
    line = "global kept['logits'] of train.py, train.py:10 in *: now lives into backward, 2.05 MB"
    assert line in " ".join(larger.stderr.split())
    [first, *_] = json.loads((tmp_path / "after.json").read_text())["against"]["changes"]
    assert (first["cause"], first["before_bytes"], first["after_bytes"]) == ("longer", 0, 128 * 4000 * 4)
    assert "### Compared with before.json\n\n- +2.05 MB: global" in (tmp_path / "after.md").read_text()
    assert run(tmp_path, "--against", "before.json", "--fail-on", "2.1MB", "train.py").returncode == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read before.json: no such file or directory (try: gradlife peak --json FILE TARGET makes one)"),
        ("{}", "before.json: this is not a report of a peak (try: gradlife peak TARGET --json FILE makes one)"),
        ('{"format": "gradlife.hunt/1"}', "before.json: this is not a report of a peak"),
        (
            '{"format": "gradlife.peak/2"}',
            "before.json: its format is gradlife.peak/2; this gradlife reads gradlife.peak/1",
        ),
        ('{"format": "gradlife.peak/1"}', "before.json: the report is damaged"),
        ("\udcff", "before.json: 'utf-8' codec can't decode"),
    ],
    ids=["missing", "foreign", "a hunt", "newer", "damaged", "no text"],
)
def test_a_file_that_is_no_earlier_report(
    content: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("raise SystemExit('it ran')")
    if content is not None:
        Path("before.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    assert main(["peak", "--against", "before.json", "train.py"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gradlife: error: {words}")
    assert "(try: gradlife peak" in line


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--fail-on", "200MB"], "a size for --fail-on needs --against (try: --against before.json, or --fail-on 5%)"),
        (["--fail-on", "lots"], "argument --fail-on: 'lots' is neither a percentage nor a size: 5%, 200MB"),
    ],
)
def test_a_limit_that_makes_no_sense(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["peak", *words, "train.py"]) == 2
    assert capsys.readouterr().err.startswith(f"gradlife: error: {error}")
