"""`%gradlife` and `%%gradlife` in IPython: cells in, what is said below them out."""

from __future__ import annotations

import re

import pytest

from gradlife.interactive.notebook.ipython_outputs import FORGET_EXCEPTION
from gradlife.interactive.notebook.session import VERBS
from gradlife.interactive.session import VERBS as SESSION_VERBS
from notebooks import Cells

BOX = "class Box:\n    pass\nbox = Box()\nbox.item = ['kept']"
TRAIN = """\
import gradlife.engine as torch
weight = torch.ones(64, 64, requires_grad=True)
class Run:
    pass
run = Run()
run.losses = []
"""
LEAK = "%%gradlife hunt --steps 80\nloss = (weight * weight).sum()\nloss.backward()\nrun.losses.append(loss)"
#: Whether any Box is alive.
ALIVE = "import gc; gc.collect(); print(sum(type(one) is Box for one in gc.get_objects()))"


def test_why_and_refs_report_a_variable_a_type_and_an_address(cells: Cells) -> None:
    said = cells(
        BOX,
        "%gradlife why box.item",
        "%gradlife why Box",
        "%gradlife refs box.item",
        "address = id(box.item)",
        "get_ipython().run_line_magic('gradlife', f'why {address}')",
    )[1:]
    assert said[0].startswith("list len 1 is held: a root reaches it\nmodule __main__ keeps it: box.item\n")
    assert said[1].startswith(("Box is held", "type __main__.Box is held"))
    assert said[2] == "list len 1\n1 reference, known:\n  Box: .item\n"
    assert said[4] == said[0]


def test_the_verbs_are_those_of_the_session_and_four_more() -> None:
    assert (
        "hunt",
        "peak",
        "snapshot",
        "diff",
        *(verb for verb in SESSION_VERBS if verb not in ("quit", "continue")),
    ) == VERBS


def test_help_has_every_verb_and_the_question_mark_the_docstring(cells: Cells) -> None:
    nothing, all_of_them, one, asked = cells("%gradlife", "%gradlife help", "%gradlife help diff", "%gradlife?")
    assert nothing == all_of_them
    assert [verb for verb in VERBS if f"  {verb}" not in nothing] == []
    assert one.startswith("  diff [FILE]   show what is new, gone and grown since the last snapshot")
    assert "%%gradlife hunt --steps 100" in asked


@pytest.mark.whole
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%gradlife wyh x", "unknown verb 'wyh' (try: why)"),
        ("%gradlife why", "of what? (try: a leak's number, an address, a type)"),
        ("%gradlife why x.y", "'x.y' gives NameError: name 'x' is not defined (try: a variable, a type)"),
        ("%gradlife why 1", "no leak has a number here, 1 is none of them (try: leaks)"),
        ("%gradlife diff", "there is no snapshot yet to compare with (try: %gradlife snapshot)"),
        ("%gradlife step 7", "no cell was hunted yet (try: %%gradlife hunt)"),
        ("%gradlife cut 1", "nothing was hunted yet (try: %%gradlife hunt)"),
        ("%gradlife hunt", "hunt in what? (try: %%gradlife hunt over a cell, or %gradlife hunt FUNCTION)"),
        ("%gradlife hunt --steps 0 f", "argument --steps: '0' is not a number of steps (try: %gradlife help hunt)"),
        ("%gradlife hunt 5 + 5", "'5 + 5' is not a function (try: %%gradlife hunt over a cell)"),
        ("%%gradlife why x\n1", "'why' takes no cell (try: %%gradlife hunt)"),
        ("%gradlife peak", "peak in what? (try: %%gradlife peak over a cell, or %gradlife peak FUNCTION)"),
        ("%%gradlife peak f\n1", "below %%gradlife peak the cell is the step (try: %gradlife peak FUNCTION)"),
        ("%%gradlife hunt f\n1", "below %%gradlife hunt the cell is the step (try: %gradlife hunt FUNCTION)"),
        (
            "%%gradlife hunt\nx = 1\ny = 2 +* 3",
            "the cell is not Python: invalid syntax in line 2 (try: run it without %%gradlife)",
        ),
    ],
)
def test_what_goes_wrong_is_one_line_without_a_traceback(cells: Cells, cell: str, message: str) -> None:
    assert cells(cell) == [f"UsageError: {message}\n"]


def test_an_error_of_the_cell_itself_is_shown_as_python_shows_it(cells: Cells) -> None:
    said, after = cells("%%gradlife hunt --steps 20\n1 / 0", "%gradlife leaks")
    assert "ZeroDivisionError: division by zero" in said
    assert "----> 1 1 / 0" in said
    assert "What grows takes two snapshots" in after


def test_diff_shows_what_is_new_since_the_snapshot_and_in_the_file(cells: Cells) -> None:
    said = cells(
        BOX + "\nboxes = []",
        "%gradlife snapshot before.glheap",
        "boxes.extend(Box() for _ in range(50))",
        "%gradlife diff",
        "%gradlife diff before.glheap",
        "difference = %gradlife -o diff",
        "print([row.new for row in difference.types if row.type == '__main__.Box'])",
    )
    assert said[1].startswith("saved: gradlife open before.glheap -i\n")
    assert said[1].endswith(": `%gradlife diff` shows what changes from here on\n")
    for one in (said[3], said[4]):
        assert re.search(r"__main__\.Box +0 +50 ", one)
        assert "'boxes'[*]" in one
    # the dicts of all modules are one place, and which of them is the example says nothing
    rows = [line for line in said[3].splitlines() if not line.endswith(": .__dict__")]
    assert [line for line in rows if "gradlife.model" in line or "gradlife.reports" in line or "jinja2" in line] == []
    assert said[6] == "[50]\n"


def test_a_cell_is_hunted_in_and_its_leaks_are_reported_cut_and_measured_again(cells: Cells) -> None:
    said = cells(
        TRAIN, LEAK, "%gradlife leaks", "%gradlife why 1", "%gradlife refs 1", "%gradlife step 7", "%gradlife cut 1",
        "%gradlife step 7", "%gradlife step 7", "loss, len(run.losses) > 80",
    )  # fmt: skip
    assert "GL402" in said[1]
    assert "a step is  call of the cell" in said[1]
    assert "Created at In[3]:1 in <module>." in " ".join(said[1].split())
    assert "%gradlife cut 1   # removes the suspect reference from here on" in said[1]
    assert "gradlife hunt --prove" not in said[1]
    assert said[2].startswith("  1  GL402")
    assert "run.losses" in said[3]
    assert "Tensor float32 []" in said[4]
    assert "+7" in said[5]
    assert said[6].startswith("from now on: new items of run.losses dropped after each step")
    assert "tensors" not in said[8]  # the session itself keeps an object a step
    assert said[9].endswith("True)\n")


def test_a_function_is_hunted_in_and_the_report_is_the_value(cells: Cells) -> None:
    said = cells(
        TRAIN,
        "def train_step():\n    loss = (weight * weight).sum()\n    loss.backward()",
        "report = %gradlife -o hunt --steps 60 train_step",
        "print(type(report).__name__, report.verdict)",
    )
    assert "clean" in said[2]
    assert said[3] == "HuntReport clean\n"


def test_without_an_option_a_magic_has_no_value(cells: Cells) -> None:
    said = cells(
        BOX, "trace = %gradlife why box", "print(trace)", "trace = %gradlife -o why box", "print(trace.lifetime)"
    )
    assert (said[2], said[4]) == ("None\n", "held\n")
    assert said[1].splitlines()[:7] == said[3].splitlines()[:7]


def test_a_page_is_shown_where_the_front_end_can_show_it(cells: Cells) -> None:
    said = cells(
        BOX,
        "from gradlife.model.trace import Trace\nTrace._repr_html_ = lambda self: '<b>page</b>'",
        "from IPython.utils.capture import capture_output\n"
        "with capture_output() as caught:\n    get_ipython().run_line_magic('gradlife', 'why box')\n"
        "print(sorted(caught.outputs[0].data), caught.outputs[0].data.get('text/html'))",
    )
    assert said[2] == "['text/html', 'text/plain'] <b>page</b>\n"


# --- what IPython itself keeps ---


def test_an_output_that_only_ipython_keeps_is_reported_as_that_with_what_lets_go_of_it(cells: Cells) -> None:
    said = cells(BOX, "box", "del box", "%gradlife why _3.item", ALIVE, "%xdel _3", ALIVE)
    lines = said[3].splitlines()
    assert lines[-2] == "note: The path leads through Out[3]: IPython keeps what a cell displays, under Out, _ and _3."
    assert lines[-1] == ("note: To release it: %xdel _3, which is del Out[3] and all its names; of all: %reset -f out")
    assert (said[4], said[6]) == ("1\n", "0\n")


def test_an_output_that_a_variable_holds_too_is_not_blamed_on_ipython(cells: Cells) -> None:
    said = cells(BOX + "\nshelf = [box]", "box", "%gradlife why _", "%gradlife why box.item")
    for one in said[2:]:
        assert (
            "Beside IPython it is held by your variable 'box', list len 1 ([0]): letting go of the output does not free it."
            in one
        )


def test_of_what_no_output_keeps_nothing_is_noted(cells: Cells) -> None:
    said = cells(BOX, "5", "%gradlife why box", "%gradlife refs box.item")
    assert "note:" not in said[2] + said[3]


def test_the_last_exception_is_reported_as_that_with_what_lets_go_of_it(cells: Cells) -> None:
    fails = "def fails():\n    local = Box()\n    raise ValueError('no')\nfails()"
    said = cells(BOX + "\ndel box", fails, "%gradlife why ValueError", "1", ALIVE, FORGET_EXCEPTION, "1", ALIVE)
    lines = said[2].splitlines()
    assert lines[0] == "ValueError is held: a root reaches it"
    assert lines[-2].startswith("note: The path leads through the last exception. IPython keeps it")
    assert lines[-1] == f"note: To release it: {FORGET_EXCEPTION}"
    assert (said[4], said[7]) == ("1\n", "0\n")


# --- completion ---


@pytest.mark.whole
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("%gradlife s", ["snapshot", "step", "save"]),
        ("%gradlife -o di", ["diff"]),
        ("%gradlife help cu", ["cut"]),
        ("%gradlife why bo", ["box"]),
        ("%%gradlife h", ["hunt", "help"]),
    ],
)
def test_verbs_and_variables_are_completed(cells: Cells, line: str, found: list[str]) -> None:
    asked = "from IPython.core.completer import provisionalcompleter\nwith provisionalcompleter():\n    "
    said = cells(
        BOX, f"{asked}print(sorted(one.text for one in get_ipython().Completer.completions({line!r}, {len(line)})))"
    )
    assert said[1] == f"{sorted(found)}\n"


def test_all_verbs_are_offered_where_none_is_begun(cells: Cells) -> None:
    line = "%gradlife "
    asked = "from IPython.core.completer import provisionalcompleter\nwith provisionalcompleter():\n    "
    said = cells(f"{asked}print(*(one.text for one in get_ipython().Completer.completions({line!r}, {len(line)})))")
    assert set(VERBS) <= set(said[0].split())


@pytest.mark.torch
@pytest.mark.whole
def test_the_peak_of_a_cell_names_the_variable_and_the_line(cells: Cells) -> None:
    pytest.importorskip("torch")
    _, said = cells(
        "import torch\nnet = torch.nn.Linear(64, 4000)\nx, y = torch.ones(128, 64), torch.zeros(128, dtype=torch.long)",
        "%%gradlife peak\nlogits = net(x)\nloss = torch.nn.functional.cross_entropy(logits, y)\nnet.zero_grad()\nloss.backward()",
    )
    assert said.startswith("drag  the cell  peak of 9.27 MB")
    assert "global logits of __main__: 2.05 MB" in said
    assert "`del logits` after line 2" in said


@pytest.mark.whole
def test_steps_after_a_hunt_of_a_function_have_its_numbers_and_may_be_awaited(cells: Cells) -> None:
    """`%gradlife step` called the function itself: without its number, and without running a coroutine."""
    said = cells(
        "taken = []\nasync def step(number):\n    taken.append(number)",
        "%gradlife hunt --steps 20 step",
        "first = len(taken)",
        "%gradlife step 3",
        "len(taken) - first, taken[-3:] == list(range(first, first + 3))",
    )
    assert said[-1].strip().endswith("(3, True)")
