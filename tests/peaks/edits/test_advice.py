"""The edit for each way in which something is held, from a source and the stacks of two operations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gradlife.model.peak.report import Edit, LineChange, Owner
from gradlife.peaks.edits.advice import RETAIN, GraphMakers, Life, dropped_statements, edits_for
from gradlife.peaks.edits.changes import changed
from gradlife.peaks.recording.holders import NEVER_UNPACKED, UNREAD_GRADIENT, Holder
from gradlife.peaks.recording.variables import Kind

TEXT = """\
import torch

class Trainer:
    def step(self, net, optimizer, x):
        logits = net(x)
        loss = criterion(
            logits,
        )
        self.last = loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return 1

def gather(net, data):
    outs = []
    for x in data:
        out = net(x)
        print(out)
        outs.append(out)

def distil(teacher, student, x):
    target = teacher(x)
    return (student(x) - target.detach()).sum()

def zeros(optimizer):
    optimizer.zero_grad(set_to_none=False)

def batches(source):
    for raw in source:
        x = raw[:, :4].clone()
        y = raw.sum()
        yield x, y
        del y

def named(source):
    for raw in source:
        value = raw.clone()
        yield value

def attempt(x):
    failure = None
    try:
        work(x)
    except ValueError as error:
        failure = error
    return failure is not None

def outputs(net, x):
    out = net(x)
    loss = out["loss"].sum()
    loss.backward()

def remember(x):
    global latest
    latest = x.detach()
    cache["x"] = x
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TEXT)
    return str(tmp_path / "train.py")


def after(file: str, holders: list[Holder], life: Life) -> tuple[list[str], str]:
    """The texts of the edits, and what they make of the program: lines that are new, and - before those that are gone."""
    edits = edits_for(holders, life)
    text = changed(TEXT, [change for edit in edits for change in edit.changes])
    old, new = TEXT.splitlines(), text.splitlines()
    rows = [f"-{row.strip()}" for row in old if row not in new] + [row for row in new if row not in old]
    return [edit.text for edit in edits], "\n".join(rows)


def local(file: str, name: str, function: str = "Trainer.step", path: str = "") -> Holder:
    return Holder(Owner.NAMED, "", Kind.LOCAL, name, file, function, 7, path)


def stack(file: str, line: int, function: str = "Trainer.step") -> list[tuple[str, int, str]]:
    return [("library.py", 1, "work"), (file, line, function)]


def test_a_name_is_deleted_after_the_statement_that_uses_it_last(file: str) -> None:
    found = after(file, [local(file, "logits")], Life((), stack(file, 7)))
    assert found == (["`del logits` after line 8"], "        del logits")


def test_a_name_is_deleted_where_it_is_mentioned_last_if_a_backward_pass_reads_what_it_held(file: str) -> None:
    found = after(file, [local(file, "logits")], Life((), stack(file, 11), in_backward=True))
    assert found == (["`del logits` after line 8"], "        del logits")


def test_a_name_is_not_deleted_above_the_line_that_binds_it(file: str) -> None:
    """Two models made outputs on one line of a library: the use of one was taken for that of the other."""
    found = after(file, [local(file, "target", "zeros")], Life((), stack(file, 27, "zeros")))
    assert found == (["`del target` after line 27"], "")


def test_a_name_that_is_read_later_is_not_deleted(file: str) -> None:
    found = after(file, [local(file, "loss")], Life((), stack(file, 8)))
    assert found == (["`del loss` after line 8; line 9 mentions `loss` later"], "")


def test_names_that_hold_the_same_are_deleted_together(file: str) -> None:
    texts, text = after(file, [local(file, "logits"), local(file, "x")], Life((), stack(file, 8)))
    assert texts == ["`del logits` after line 8", "`del x` after line 5"]
    assert text == "        del x\n        del logits"


def test_a_list_that_nobody_reads_is_not_filled(file: str) -> None:
    holders = [local(file, "outs", "gather", "[0]"), local(file, "out", "gather")]
    texts, text = after(file, holders, Life((), stack(file, 19, "gather")))
    assert texts == ["drop line 20: nobody reads `outs[0]`", "`del out` after line 19"]
    assert text == "-outs.append(out)\n        del out"


KEEPING = """
class KeepsOutputs:
    def step(self, net, x):
        self.kept_output = net(x)
        loss = self.kept_output.sum()
        loss.backward()

class KeepsState:
    def note(self, net, x):
        self.seen_state["output"] = net
        self.seen_state["input"] = x
"""


#: Not as literals: a file of the program that has the name of an attribute as a text may read it.
KEPT, SEEN = "_".join(["kept", "output"]), "_".join(["seen", "state"])


def test_an_attribute_is_unset(file: str) -> None:
    Path(file).write_text(KEEPING)
    holder = Holder(Owner.NAMED, "", Kind.ATTRIBUTE, KEPT, "", "KeepsOutputs")
    [edit] = edits_for([holder], Life((), stack(file, 6, "KeepsOutputs.step")))
    assert edit.text == "`self.kept_output = None` after line 5"
    assert edit.changes == (LineChange(6, 5, ("        self.kept_output = None",)),)


def test_an_attribute_that_nobody_reads_is_not_stored(file: str) -> None:
    """It was set to None directly below the line that stores it once."""
    Path(file).write_text(KEEPING.replace("loss = self.kept_output", "loss = x").replace("= net(x)", "= x"))
    holder = Holder(Owner.NAMED, "", Kind.ATTRIBUTE, KEPT, file, "KeepsOutputs")
    [edit] = edits_for([holder], Life((), stack(file, 6, "KeepsOutputs.step")))
    assert (edit.text, edit.changes) == ("drop line 4: nobody reads `.kept_output`", (LineChange(4, 4, ()),))


def test_a_name_that_getattr_passes_on_is_not_read_by_it(file: str) -> None:
    passes_on = "    def __getattr__(self, name):\n        return getattr(self.base, name)\n"
    Path(file).write_text(KEEPING.replace("loss = self.kept_output", "loss = x").replace("= net(x)", "= x") + passes_on)
    holder = Holder(Owner.NAMED, "", Kind.ATTRIBUTE, KEPT, file, "KeepsOutputs")
    [edit] = edits_for([holder], Life((), stack(file, 6, "KeepsOutputs.step")))
    assert edit.text == "drop line 4: nobody reads `.kept_output`"


def test_items_of_one_dict_are_dropped_by_the_statements_that_store_them(file: str) -> None:
    """The last statement of a function leaves `pass` behind."""
    Path(file).write_text(KEEPING)
    keys = ["['output']", "['input'][0]"]
    holders = [Holder(Owner.NAMED, "", Kind.ATTRIBUTE, SEEN, file, "KeepsState", path=key) for key in keys]
    assert len({holder.place for holder in holders}) == 2
    first = edits_for(holders[:1], Life((), stack(file, 6)))
    second = edits_for(holders[1:], Life((), stack(file, 6)), dropped_statements(holders[:1], Life((), ())))
    assert [edit.text for edit in first + second] == [
        "drop line 10: nobody reads `.seen_state['output']`",
        "drop line 11: nobody reads `.seen_state['input'][0]`",
    ]
    text = changed(KEEPING, [change for edit in first + second for change in edit.changes])
    assert text.endswith("    def note(self, net, x):\n        pass\n")


def test_zero_grad_is_moved_below_the_step(file: str) -> None:
    alone = TEXT.replace("    loss.backward()\n\ndef remember", "\ndef remember")
    Path(file).write_text(alone)
    edits = edits_for([Holder(Owner.GRADIENT, "", Kind.GRADIENT, "grad")], Life((), stack(file, 12)))
    text = changed(alone, [change for edit in edits for change in edit.changes])
    assert [edit.text for edit in edits] == ["move `optimizer.zero_grad()` from line 10 to below line 12"]
    assert "self.last = loss\n        loss.backward()\n" in text
    assert "optimizer.step()\n        optimizer.zero_grad()\n" in text


def test_gradients_are_dropped_instead_of_zeroed(file: str) -> None:
    life = Life((), stack(file, 12), zeroing=[(file, 27, "zeros")])
    texts, text = after(file, [Holder(Owner.GRADIENT, "", Kind.GRADIENT, "grad")], life)
    assert texts == ["`zero_grad(set_to_none=True)` at line 27, instead of zeros"]
    assert "optimizer.zero_grad(set_to_none=True)" in text


def test_zero_grad_stays_above_passes_of_other_functions(file: str) -> None:
    """A pass of another function that runs after the step would add to the gradients of the next one.

    A function that only the lines from the zeroing to the step call runs as before.
    """
    Path(file).write_text(TEXT.replace("optimizer.zero_grad()\n", "optimizer.zero_grad()\n        outputs(net, x)\n"))
    [edit] = edits_for([Holder(Owner.GRADIENT, "", Kind.GRADIENT, "grad")], Life((), stack(file, 13)))
    assert edit.text == "move `optimizer.zero_grad()` from line 10 to below line 13"


def test_zero_grad_stays_above_passes_of_functions_that_may_run_before_it(file: str) -> None:
    [edit] = edits_for([Holder(Owner.GRADIENT, "", Kind.GRADIENT, "grad")], Life((), stack(file, 12)))
    text = "move `optimizer.zero_grad()` from line 10 to below line 12; line 52 uses gradients"
    assert (edit.text, edit.changes) == (text, ())


@pytest.mark.parametrize(
    ("old", "new", "are_read", "condition"),
    [
        ("", "", True, "if what reads the zeros may pass over parameters without a gradient"),
        ("work(x)", "x.grad.clamp_(-1, 1)", False, "if `x.grad` may be None"),
    ],
)
def test_zeros_that_are_read_are_kept(file: str, old: str, new: str, are_read: bool, condition: str) -> None:
    """An optimizer with momentum or weight decay moves parameters whose gradient is zero, not those without one."""
    Path(file).write_text(TEXT.replace(old, new))
    life = Life((), stack(file, 12), zeroing=[(file, 27, "zeros")], are_zeros_read=are_read)
    [edit] = edits_for([Holder(Owner.GRADIENT, "", Kind.GRADIENT, "grad")], life)
    text = f"`zero_grad(set_to_none=True)` at line 27, instead of zeros, {condition}"
    assert (edit.text, edit.changes) == (text, ())


def test_a_graph_that_no_backward_pass_reads_is_not_recorded(file: str) -> None:
    holder = Holder(Owner.SAVED, "", Kind.SAVED, "target", file, "distil", 24)
    made = GraphMakers([stack(file, 23, "distil")], [holder], frozenset())
    life = Life(stack(file, 23, "distil"), stack(file, 23, "distil"), makers=made)
    training = replace(life, makers=replace(made, training=frozenset({(file, 23, "distil")})))
    assert after(file, [holder], training)[1] == ""
    assert after(file, [holder], life) == (
        ["`with torch.no_grad():` around line 23"],
        "-target = teacher(x)\n    with torch.no_grad():\n        target = teacher(x)",
    )


def test_a_generator_lets_go_as_soon_as_it_goes_on(file: str) -> None:
    holder = Holder(Owner.NAMED, "", Kind.LOCAL, "x", file, "batches", 30)
    assert after(file, [holder], Life((), stack(file, 11))) == (["`del x` after line 33"], "        del x")


def test_a_generator_yields_without_the_name_where_nothing_else_mentions_it(file: str) -> None:
    holder = Holder(Owner.NAMED, "", Kind.GENERATOR, "value", file, "named", 39)
    assert after(file, [holder], Life((), stack(file, 11))) == (
        ["yield the value of line 38 without the name `value`"],
        "-value = raw.clone()\n-yield value\n        yield raw.clone()",
    )


def test_a_kept_exception_loses_its_traceback(file: str) -> None:
    holder = Holder(Owner.NAMED, "", Kind.EXCEPTION, "x", file, "attempt", 44)
    assert after(file, [holder], Life((), stack(file, 11))) == (
        ["`error.with_traceback(None)` at line 46: its frames go"],
        "-failure = error\n        failure = error.with_traceback(None)",
    )


def test_a_dict_of_outputs_is_deleted_where_nothing_reads_it_later(file: str) -> None:
    found = after(file, [local(file, "out", "outputs", "['loss']")], Life((), stack(file, 51, "outputs")))
    assert found == (["`del out` after line 51"], "    del out")


def test_a_global_that_nobody_reads_is_not_bound(file: str) -> None:
    holder = Holder(Owner.NAMED, "", Kind.GLOBAL, "latest", file, "train")
    assert after(file, [holder], Life((), stack(file, 56, "remember"))) == (
        ["drop line 56: nobody reads `latest`"],
        "-latest = x.detach()",
    )


def test_an_item_that_nobody_reads_is_not_stored(file: str) -> None:
    holder = Holder(Owner.NAMED, "", Kind.GLOBAL, "cache", file, "train", path="['x']")
    assert after(file, [holder], Life((), stack(file, 57, "remember"))) == (
        ["drop line 57: nobody reads `cache['x']`"],
        '-cache["x"] = x',
    )


def test_a_graph_that_a_backward_pass_reads_is_recorded(file: str) -> None:
    holder = Holder(Owner.SAVED, "", Kind.SAVED, "target", file, "distil", 24)
    life = Life(stack(file, 23, "distil"), stack(file, 23, "distil"), is_graph_read=True)
    advised = "save no tensor for a backward pass that does not read it: it is made at line 1"
    assert after(file, [holder], life) == ([advised], "")


def test_gradients_that_nobody_reads_are_not_computed(file: str) -> None:
    holder = Holder(Owner.GRADIENT, "", Kind.GRADIENT, UNREAD_GRADIENT)
    advised = "`requires_grad_(False)` for parameters whose gradients no optimizer reads"
    assert after(file, [holder], Life((), stack(file, 12))) == ([advised], "")


def test_a_traceback_and_a_generator_are_advised_in_words(file: str) -> None:
    Path(file).write_text(TEXT.replace("failure = error", "report(error)"))
    failed = Holder(Owner.NAMED, "", Kind.EXCEPTION, "y", file, "gather", 18)
    yielded = Holder(Owner.NAMED, "", Kind.GENERATOR, "out", file, "gather", 18)
    texts, text = after(file, [failed, yielded], Life((), stack(file, 11)))
    assert (texts, text) == (
        [
            "keep `str(error)` or `error.with_traceback(None)`: its traceback holds `y`",
            "yield the value of `out` of gather without a name",
        ],
        "",
    )


def test_a_diff_can_be_applied(file: str) -> None:
    [edit] = edits_for([local(file, "logits")], Life((), stack(file, 7)))
    assert edit.patch.splitlines()[:2] == ["--- a/train.py", "+++ b/train.py"]
    assert "+        del logits" in edit.patch.splitlines()


def unretained(file: str, text: str) -> Edit:
    """The edit for a graph that line 11 retains."""
    text = text.replace("loss.backward()\n        optimizer", "loss.backward(retain_graph=True)\n        optimizer")
    Path(file).write_text(text)
    holder = Holder(Owner.SAVED, "", Kind.SAVED, "loss", file, "Trainer.step", 11)
    [edit] = edits_for([holder], Life((), stack(file, 11), in_backward=True, retained=stack(file, 11)[1:]))
    return edit


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        pytest.param("return 1", "if rare: (loss * 2).backward()", 13, id="in the function"),
        pytest.param(
            "return 1", "penalty(loss)\n\ndef penalty(loss):\n    autograd.grad(loss, w)", 13, id="in another one"
        ),
        pytest.param("return 1", "return loss", 52, id="of the value that it returns"),
        pytest.param("return 1", "return 1", 52, id="of the value that an object keeps"),
    ],
)
def test_a_graph_that_a_rarer_pass_may_read_is_retained(file: str, old: str, new: str, line: int) -> None:
    text = TEXT if new == old else TEXT.replace("self.last = loss", "pass").replace(old, new, 1)
    edit = unretained(file, text)
    read = "no `retain_graph=True` at line 11: no other backward pass reads that graph if that of line"
    assert (edit.text, edit.changes) == (f"{read} {line} never does", ())


def test_a_graph_that_one_pass_reads_is_not_retained(file: str) -> None:
    edit = unretained(file, TEXT.replace("self.last = loss", "pass"))
    assert edit.text == "no `retain_graph=True` at line 11: no other backward pass reads that graph"
    assert [change.lines for change in edit.changes] == [("        loss.backward()",)]


@pytest.mark.parametrize(
    ("call", "without"),
    [
        ("loss.backward(retain_graph=True)", "loss.backward()"),
        ("loss.backward(gradient, retain_graph=True)", "loss.backward(gradient)"),
        ("loss.backward(retain_graph=True, inputs=[w])", "loss.backward(inputs=[w])"),
    ],
)
def test_only_the_retained_graph_goes_from_a_call(call: str, without: str) -> None:
    assert RETAIN.sub("", call) == without


def test_what_no_backward_pass_reads_is_not_saved(file: str) -> None:
    holder = Holder(Owner.SAVED, "", Kind.SAVED, NEVER_UNPACKED, file, "Scale.forward", 7)
    found = after(file, [holder], Life((), stack(file, 7)))
    assert found == (["save nothing at line 7 that the backward pass does not read"], "")


ENCODE = """
def encode(layers, x):
    kept = []
    for layer in layers:
        x = layer(x)
        kept.append(x)
    return x, kept
"""


def test_the_statement_that_fills_a_list_is_named(file: str) -> None:
    Path(file).write_text(TEXT + ENCODE)
    line = TEXT.count("\n") + 6
    texts, _ = after(file, [local(file, "kept", "encode", "[0]")], Life((), stack(file, line - 1, "encode")))
    assert texts == [f"keep nothing in `kept` at line {line} that is not read: `kept[0]` is the last to hold it"]


def test_a_graph_behind_several_values_is_not_recorded_where_it_is_made(file: str) -> None:
    holder = Holder(Owner.SAVED, "", Kind.SAVED, "entropy", file, "distil", 24)
    life = Life([(file, 30, "batches"), (file, 24, "distil")], stack(file, 23, "distil"))
    assert after(file, [holder], life) == (["`with torch.no_grad():` around line 30 if no backward pass reads it"], "")


def test_a_line_that_goes_is_not_taken_for_the_one_above_it() -> None:
    changes = [LineChange(2, 1, ("del out",)), LineChange(2, 2, ())]
    assert changed("use(out)\nzero_grad()\nbackward()\n", changes) == "use(out)\ndel out\nbackward()\n"


@pytest.mark.parametrize(
    ("kept", "edited"),
    [
        ("failures.append((1, error))", "failures.append((1, error.with_traceback(None)))"),
        ("failures[:] = [error]", "failures[:] = [error.with_traceback(None)]"),
        ("failures['last'] = error", "failures['last'] = error.with_traceback(None)"),
    ],
)
def test_an_exception_in_a_container_loses_its_traceback(file: str, kept: str, edited: str) -> None:
    Path(file).write_text(TEXT.replace("failure = error", kept))
    [edit] = edits_for([Holder(Owner.NAMED, "", Kind.EXCEPTION, "x", file, "attempt", 44)], Life((), stack(file, 11)))
    assert [change.lines for change in edit.changes] == [(f"        {edited}",)]


def test_a_generator_that_computes_what_it_yields_keeps_the_names_in_it(file: str) -> None:
    """`del` below the `yield` was advised once: it runs when the generator goes on, and saves nothing."""
    Path(file).write_text("def batches(raw):\n    noise = raw + 1\n    yield raw * noise\n    yield raw, noise\n")
    waits = Holder(Owner.NAMED, "", Kind.GENERATOR, "noise", file, "batches", 3)
    [edit] = edits_for([waits], Life((), [(file, 3, "batches")]))
    assert (edit.text, edit.changes) == (
        "compute what line 3 yields in a function: `noise` stays while the generator waits there",
        (),
    )


FIELDS = """\
def train(model, batch, optimizer):
    outputs = model(batch)
    optimizer.zero_grad()
    outputs.loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("field", ["outputs.loss", 'outputs["loss"]'])
def test_the_field_that_is_read_later_is_taken_out_of_an_object(file: str, field: str) -> None:
    Path(file).write_text(FIELDS.replace("outputs.loss", field))
    [edit] = edits_for([local(file, "outputs", "train", ".logits")], Life((), [(file, 2, "train")]))
    taken = f"loss = {field}".replace('"', "'")
    assert edit.text == f"`{taken}; del outputs` after line 2"
    assert changed(FIELDS, edit.changes).splitlines()[2:6] == [
        f"    {taken}",
        "    del outputs",
        "    optimizer.zero_grad()",
        "    loss.backward()",
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("    print(outputs.loss, outputs.logits)", "two fields"),
        ("    show(outputs)", "the object itself"),
        ("    outputs.backward()", "a method"),
        ("    print(outputs.logits)", "what it is to release"),
    ],
)
def test_no_field_is_taken_out_where_more_is_read(file: str, line: str, why: str) -> None:
    Path(file).write_text(FIELDS.replace("    outputs.loss.backward()", line + "\n    optimizer.backward()"))
    [edit] = edits_for([local(file, "outputs", "train", ".logits")], Life((), [(file, 2, "train")]))
    assert not edit.text.endswith("; del outputs` after line 2"), why


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("outputs.loss", 'outputs["class"]', id="a keyword"),
        pytest.param("optimizer.zero_grad()", "loss, outputs_loss = optimizer.zero_grad()", id="names that it has"),
    ],
)
def test_no_field_is_taken_out_whose_name_can_be_no_new_variable(file: str, old: str, new: str) -> None:
    Path(file).write_text(FIELDS.replace(old, new))
    [edit] = edits_for([local(file, "outputs", "train", ".logits")], Life((), [(file, 2, "train")]))
    assert not edit.text.endswith("; del outputs` after line 2")


def test_a_field_that_several_statements_read_is_taken_out_once(file: str) -> None:
    Path(file).write_text(FIELDS + "    print(outputs.loss.item())\n")
    [edit] = edits_for([local(file, "outputs", "train", ".logits")], Life((), [(file, 2, "train")]))
    rows = changed(FIELDS + "    print(outputs.loss.item())\n", edit.changes).splitlines()
    assert rows[2:4] == ["    loss = outputs.loss", "    del outputs"]
    assert (rows[5], rows[7]) == ("    loss.backward()", "    print(loss.item())")


PASSED = """\
class Engine:
    def step(self, model, x):
        outputs = model(x)
        loss = self.backward(outputs, 1)
        return loss

    def backward(self, outputs, y):
        loss = outputs.sum()
        loss.backward()
        return loss.item()
"""


def test_a_value_is_passed_on_without_a_name(file: str) -> None:
    """The function that is called may delete its argument as it likes: the name of its caller holds it."""
    Path(file).write_text(PASSED)
    names = [local(file, "outputs", "Engine.backward"), local(file, "outputs", "Engine.step")]
    names[1] = replace(names[1], kind=Kind.PASSED)
    stack = [(file, 8, "Engine.backward"), (file, 4, "Engine.step")]
    deleted, passed = edits_for(names, Life((), stack))
    assert (deleted.text, passed.text) == (
        "`del outputs` after line 8",
        "pass the value of line 3 on at line 4 without the name `outputs`",
    )
    rows = changed(PASSED, [*deleted.changes, *passed.changes]).splitlines()
    assert rows[2] == "        loss = self.backward(model(x), 1)"
    assert "        del outputs" in rows


def test_a_value_that_is_read_twice_is_passed_on_in_words(file: str) -> None:
    Path(file).write_text(PASSED.replace("outputs = model(x)", "outputs = model(x); print(outputs)"))
    holder = replace(local(file, "outputs", "Engine.step"), kind=Kind.PASSED)
    [edit] = edits_for([holder], Life((), [(file, 8, "Engine.backward"), (file, 4, "Engine.step")]))
    text = "pass `outputs` on at line 4 without a name: `Engine.step` holds it until that call ends"
    assert (edit.text, edit.changes) == (text, ())


NONLOCAL = """\
def make(model):
    last = None

    def step(x):
        nonlocal last
        out = model(x)
        out.sum().backward()
        last = out

    return step
"""


def test_a_variable_of_an_outer_function_that_nobody_reads_is_not_stored(file: str) -> None:
    Path(file).write_text(NONLOCAL)
    holder = Holder(Owner.NAMED, "", Kind.LOCAL, "last", file, "make.<locals>.step", 6)
    [edit] = edits_for([holder], Life((), [(file, 6, "make.<locals>.step")]))
    assert edit.text == "drop line 8: nobody reads `last`"


def test_what_a_list_of_an_object_keeps_is_not_added_to_it(file: str) -> None:
    """It was `self.outputs = None` once, which breaks the next append."""
    text = "class Run:\n    def step(self, x):\n        self.outputs.append(self.net(x))\n        return self.outputs[0].loss\n"
    Path(file).write_text(text)
    holder = Holder(Owner.NAMED, "", Kind.ATTRIBUTE, "outputs", file, "Run", path="[0]['logits']")
    [edit] = edits_for([holder], Life((), [(file, 3, "Run.step")]))
    assert (edit.line, edit.changes) == (3, ())
    assert edit.text.startswith("keep nothing in `self.outputs` at line 3 that is not read")


def test_a_variable_takes_its_graph_with_it(file: str) -> None:
    Path(file).write_text(FIELDS)
    graph = Holder(Owner.SAVED, "", Kind.SAVED, "outputs", file, "train", 2, ".logits")
    edits = edits_for([graph, local(file, "outputs", "train", ".logits")], Life((), [(file, 2, "train")]))
    assert [edit.text for edit in edits] == ["`loss = outputs.loss; del outputs` after line 2"]
