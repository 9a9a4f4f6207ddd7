"""A gradient that points back at the parameter it belongs to."""

import weakref
from functools import partial

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10"
RING = "x -> (C++) its gradient -> the wrapper -> __dict__ -> x: one reference is in C++"


def owned_weakly(x):
    """Let the gradient know its leaf without owning it."""
    x.grad.owner = weakref.ref(x)


@scenario(
    title="x.grad.owner = x",
    origin=["pytorch/pytorch#56017", "pytorch/pytorch#22884"],
    pattern="GL203",
    expects=[
        Expect("x", "del", on=CACHED, because="the wrapper with the attribute died at the end of the statement"),
        Expect("x", "never", on="torch-*", because=RING),
        Expect("x.storage", "never", on="torch>=1.10", because=RING),
    ],
)
def grad_names_its_owner(lab):
    """A back pointer from a gradient to its parameter, as an optimizer or a logger might set it.

    x's autograd data (C++) owns the gradient; since torch 1.10 that means owning the gradient's wrapper too, and
    with it the `__dict__` that now owns x. Two objects, one Python edge, one C++ edge: never collected, because the
    collector sees only the Python one. Each step that makes new parameters (meta-learning, per-sample models) loses
    one, with its gradient. Up to 1.9 the same line was a no-op: the attribute died with the temporary wrapper.

    The fix: a weak back pointer, or `x.grad = None` before x goes.
    """
    x = lab.tensor(requires_grad=True)
    (x * 2).sum().backward()
    lab.attempt("x.grad.owner = x", partial(setattr, x.grad, "owner", x))
    lab.watch("x", x)
    lab.stage("owner set")
    del x
    lab.stage("names gone", all_names_gone=True)


@grad_names_its_owner.fixed(
    title="x.grad.owner = weakref.ref(x)",
    fix="point back weakly: x.grad.owner = weakref.ref(x)",
    expects=[
        Expect("x", "del", on="torch-*", because="a weak reference owns nothing"),
        Expect("x.storage", "del", on="torch-*"),
    ],
)
def grad_names_its_owner_weakly(lab):
    """The back pointer as a weak reference: the ring is open, x goes by reference counts."""
    x = lab.tensor(requires_grad=True)
    (x * 2).sum().backward()
    lab.attempt("x.grad.owner = weakref.ref(x)", partial(owned_weakly, x))
    lab.watch("x", x)
    lab.stage("owner set")
    del x
    lab.stage("names gone", all_names_gone=True)


@grad_names_its_owner.fixed(
    title="x.grad.owner = x, with x.grad dropped at the end",
    fix="x.grad = None before the parameter goes",
    expects=[
        Expect("x", "del", on="torch-*", because="without its C++ edge the ring is open"),
        Expect("x.storage", "del", on="torch-*"),
    ],
)
def grad_names_its_owner_until_dropped(lab):
    """`x.grad = None` cuts the C++ edge; the gradient's wrapper, its dict and its hold on x go at once."""
    x = lab.tensor(requires_grad=True)
    (x * 2).sum().backward()
    lab.attempt("x.grad.owner = x", partial(setattr, x.grad, "owner", x))
    lab.watch("x", x)
    lab.stage("owner set")
    x.grad = None
    del x
    lab.stage("names gone", all_names_gone=True)
