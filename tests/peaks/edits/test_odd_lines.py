"""Edits of files indented with tabs, with form feeds, and of statements that cannot be removed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.model.peak.report import LineChange, Owner
from gradlife.peaks.edits.advice import GraphMakers, Life, edits_for
from gradlife.peaks.edits.changes import changed
from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.variables import Kind

#: The texts of the edits, and the program with them.
Edited = tuple[list[str], str]


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Edited]:
    """Edits a program for these names of its function `step`, used last at a line; 0: elsewhere."""
    monkeypatch.chdir(tmp_path)
    file = str(tmp_path / "train.py")

    def edit(text: str, line: int, *names: Holder, makers: tuple[int, ...] = ()) -> Edited:
        Path(file).write_text(text)
        stack = [(file, line, "step")] if line else []
        holders = [Holder(one.owner, one.text, one.kind, one.name, file, "step", 1, one.path) for one in names]
        made = GraphMakers([[(file, one, "step")] for one in makers or (line,)], holders, frozenset())
        edits = edits_for(holders, Life(stack, stack, makers=made))
        return [one.text for one in edits], changed(text, [change for one in edits for change in one.changes])

    return edit


def local(name: str, path: str = "") -> Holder:
    return Holder(Owner.NAMED, "", Kind.LOCAL, name, path=path)


def saved(name: str) -> Holder:
    return Holder(Owner.SAVED, f"saved result of ExpBackward0, in the graph of {name}", Kind.SAVED, name)


def test_a_line_below_one_with_a_tab_has_a_tab(edited: Callable[..., Edited]) -> None:
    _, text = edited("def step(net, x):\n\tout = net(x)\n\treturn 1\n", 2, local("out"))
    assert text == "def step(net, x):\n\tout = net(x)\n\tdel out\n\treturn 1\n"


def test_a_block_in_a_file_with_tabs_is_indented_with_tabs(edited: Callable[..., Edited]) -> None:
    _, text = edited("import torch\ndef step(net, x):\n\tout = net(x)\n\treturn 1\n", 3, saved("out"))
    assert text == "import torch\ndef step(net, x):\n\twith torch.no_grad():\n\t\tout = net(x)\n\treturn 1\n"


def test_a_form_feed_ends_no_line(edited: Callable[..., Edited]) -> None:
    _, text = edited("import torch\n\x0c\ndef step(net, x):\n    out = net(x)\n    return 1\n", 4, local("out"))
    assert text == "import torch\n\x0c\ndef step(net, x):\n    out = net(x)\n    del out\n    return 1\n"


def test_a_name_is_not_deleted_above_a_statement_that_no_edit_removes(edited: Callable[..., Edited]) -> None:
    text = "def step(net, x):\n    outs = []\n    out = net(x); outs.append(\n        out)\n    return 1\n"
    texts, after = edited(text, 3, local("outs", "[0]"), local("out"))
    assert texts[1] == "`del out` after `outs.append(out)` in line 4"
    assert after == text.replace("out)\n", "out); del out\n")


def test_statements_that_make_parts_of_one_graph_are_in_one_block(edited: Callable[..., Edited]) -> None:
    """A block around the first alone left what the second saves: the report said more than the edit saved."""
    text = "import torch\ndef step(x):\n    y = x.exp()\n    z = y.exp()\n    return 1\n"
    texts, after = edited(text, 4, saved("y"), saved("z"), makers=(4, 3))
    assert texts == ["`with torch.no_grad():` around lines 3 to 4"]
    block = "    with torch.no_grad():\n        y = x.exp()\n        z = y.exp()\n"
    assert after == f"import torch\ndef step(x):\n{block}    return 1\n"


def test_an_edit_of_a_line_in_a_new_block_is_made_in_the_block() -> None:
    text = "import torch\ndef step(x):\n    y = x.exp()\n    z = y.exp()\n    return 1\n"
    block = LineChange(3, 4, ("    with torch.no_grad():", "        y = x.exp()", "        z = y.exp()"))
    found = changed(text, [block, LineChange(4, 3, ("    del x",))])
    assert found.splitlines()[2:6] == [*block.lines[:2], "        del x", block.lines[2]]


def test_one_node_in_two_graphs_has_one_edit(edited: Callable[..., Edited]) -> None:
    text = "import torch\ndef step(x):\n    y = x.exp()\n    z = y + 1\n    return 1\n"
    texts, _ = edited(text, 3, saved("y"), saved("z"), makers=(3,))
    assert texts == ["`with torch.no_grad():` around line 3"]


def test_a_yield_on_the_line_of_a_loop_does_not_remove_the_loop(edited: Callable[..., Edited]) -> None:
    text = "def step(xs):\n    for x in xs: value = x + 1; yield value\n"
    _, after = edited(text, 0, Holder(Owner.NAMED, "", Kind.GENERATOR, "value"))
    assert after == "def step(xs):\n    for x in xs: value = x + 1; yield value; del value\n"


LOOP = """\
def step(net, heads, x):
    h = net(x)
    for head in heads:
        loss = head(h)
        loss.backward()
    return 1
"""


def test_a_name_that_a_loop_reads_is_deleted_below_the_loop_and_one_of_its_own_within(
    edited: Callable[..., Edited],
) -> None:
    """`del` in a loop that does not bind the name again ended the program in the next round."""
    texts, text = edited(LOOP, 5, local("h"), local("loss"))
    assert texts == ["`del h` after the loop of line 3", "`del loss` after line 5"]
    assert text == LOOP.replace("backward()\n", "backward()\n        del loss\n    del h\n")


def test_no_edit_has_a_name_that_exists_only_within_a_comprehension(edited: Callable[..., Edited]) -> None:
    """`t.obs = None` below the line was the edit, which ended the program with a NameError."""
    text = "def step(rollout):\n    obs = stack([t.obs for t in rollout])\n    return train(obs)\n"
    words, after = edited(text, 2, Holder(Owner.NAMED, "", Kind.ATTRIBUTE, "obs", function="Transition"))
    assert (words, after) == (["set `.obs` of each step to None after line 2"], text)
