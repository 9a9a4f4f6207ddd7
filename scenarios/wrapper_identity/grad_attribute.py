"""Attributes set on `x.grad` while only C++ holds the gradient, and the objects that they hold."""

from functools import partial

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10"
PRESERVING = "torch-*"
ONEFLOW = "oneflow-*"
LOST = "AttributeError: 'Tensor' object has no attribute 'note'"
NO_DICT = "a OneFlow tensor has no __dict__"
ALONE = "only C++ holds the gradient"


def leaf_with_grad(fw):
    """A leaf whose gradient was not read yet."""
    x = fw.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    return x


class Note:
    """A plain object that can be watched."""


@scenario(
    title="an attribute set on x.grad",
    origin=["pytorch/pytorch#55686", "pytorch/pytorch#56017"],
    pattern="GL201",
    expects=[
        Expect(
            "read back", LOST, probe="value", on=CACHED, because="that wrapper is gone, with its dict; this is another"
        ),
        Expect("read back", 41, probe="value", on=PRESERVING, because="C++ owns the wrapper, with its __dict__"),
        Expect("read back", LOST, probe="value", on=ONEFLOW, because=NO_DICT),
        Expect("written", None, probe="value", on="torch-* mini:[!o]*"),
        Expect("written", LOST, probe="value", on=ONEFLOW, because=NO_DICT),
    ],
)
def attribute_on_grad(lab):
    """`x.grad.note = 41` writes into the wrapper's `__dict__`, and Python alone knows that dict.

    The statement takes a wrapper of the gradient, sets the attribute and drops the wrapper. If the impl owns the
    wrapper (torch from 1.10 on) the next `x.grad` is the same object and the note is there. If it does not, the
    wrapper and its dict died at the end of the statement; there is no error until you read the note.

    The fix: keep what you know about a gradient next to it, in a dict of your own keyed by the parameter.
    """
    x = leaf_with_grad(lab.fw)
    lab.attempt("written", lambda: setattr(x.grad, "note", 41))
    others = [lab.fw.ones(1) for _ in range(4)]  # so that the old memory is taken
    lab.attempt("read back", lambda: x.grad.note)
    lab.stage("read back")
    del others


@attribute_on_grad.fixed(
    title="a note about x.grad, kept beside it",
    fix="keep the note in a dict of your own, keyed by the parameter that you hold",
    expects=[Expect("read back", 41, probe="value", because="the parameter is held, so its id is its own")],
)
def attribute_beside_grad(lab):
    """The same note, in a dict keyed by the parameter: true in every release, whoever owns the wrapper.

    The parameter is a name of the story, so its wrapper lives and its id belongs to nobody else.
    """
    x = leaf_with_grad(lab.fw)
    notes = {id(x): 41}
    others = [lab.fw.ones(1) for _ in range(4)]
    lab.attempt("read back", lambda: notes[id(x)])
    lab.stage("read back")
    del others


@scenario(
    title="an object in the __dict__ of x.grad",
    origin=["pytorch/pytorch#56017"],
    expects=[
        Expect("note", "dead", probe="expiry", stage=ALONE, on=CACHED, because="it went with the wrapper that had it"),
        Expect(
            "note", "alive", probe="expiry", stage=ALONE, on=PRESERVING, because="C++ -> wrapper -> __dict__ -> note"
        ),
        Expect("note", "dead", probe="expiry", stage=ALONE, on=ONEFLOW, because=NO_DICT),
        Expect("note", "del", because="when C++ lets go, wrapper, dict and note go by reference counts at once"),
    ],
)
def object_in_the_dict_of_grad(lab):
    """Whatever hangs on the wrapper of a gradient lives as long as the gradient, and no longer.

    Three owners in a row: `x` (C++) holds the gradient's impl, the impl the wrapper, the wrapper's `__dict__` the
    note. So from torch 1.10 on the note is alive with no Python name in sight: gc shows no referrer but a dict that
    nobody seems to own. `x.grad = None` cuts the first link and the whole row goes without the collector. Up to 1.9
    the second link was missing and the note died with the statement that wrote it.
    """
    x = leaf_with_grad(lab.fw)
    note = Note()
    grad = x.grad
    lab.attempt("written", partial(setattr, grad, "note", note))
    lab.watch("note", note)
    lab.stage("all named")
    del note, grad
    lab.stage(ALONE)
    x.grad = None
    lab.stage("x.grad is None", all_names_gone=True)
