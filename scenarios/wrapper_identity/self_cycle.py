"""A tensor that holds itself: the plain cycle, for comparison with cycles through C++."""

import weakref
from functools import partial

from gradlife.scenario import Expect, scenario

HELD = "held by the graph alone"
PYTHON_ONLY = "both edges of the cycle are Python's, so the collector sees it whole"


def know_weakly(tensor):
    """Let the tensor know itself without owning itself."""
    tensor.me = weakref.ref(tensor)


@scenario(
    title="a tensor holds itself",
    origin=["pytorch/pytorch#56017"],
    pattern="GL204",
    expects=[
        Expect("tensor", "gc", on="torch-*", because=PYTHON_ONLY),
        Expect(
            "tensor.storage", "gc", on="torch-*", because="the impl goes with the wrapper, the storage with the impl"
        ),
    ],
)
def tensor_holds_itself(lab):
    """`t.me = t`: wrapper -> `__dict__` -> wrapper. An ordinary Python cycle.

    Nothing in C++ owns the impl but the wrapper, so the wrapper is Python's alone and the collector may take it:
    `gc`. That is not free of cost: until the collector runs, the storage stays, and the collector counts objects,
    not bytes, so a gigabyte held by a cycle of two objects gives it no reason to hurry.

    This is the control for the cycles with a reference in C++: they look the same in Python and have another verdict.
    """
    tensor = lab.tensor()
    lab.attempt("tensor.me = tensor", partial(setattr, tensor, "me", tensor))
    lab.watch("tensor", tensor)
    lab.stage("tied")
    del tensor
    lab.stage("name gone", all_names_gone=True)


@tensor_holds_itself.fixed(
    title="a tensor knows itself weakly",
    fix="t.me = weakref.ref(t)",
    expects=[Expect("tensor", "del", on="torch-*"), Expect("tensor.storage", "del", on="torch-*")],
)
def tensor_knows_itself_weakly(lab):
    """With a weak reference there is no cycle, and the storage goes with the last name."""
    tensor = lab.tensor()
    lab.attempt("tensor.me = weakref.ref(tensor)", partial(know_weakly, tensor))
    lab.watch("tensor", tensor)
    lab.stage("tied")
    del tensor
    lab.stage("name gone", all_names_gone=True)


@scenario(
    title="a tensor that holds itself, saved by a graph that is gone",
    origin=["pytorch/pytorch#56017"],
    pattern="GL204",
    expects=[
        Expect(
            "tensor",
            "dead",
            probe="expiry",
            stage=HELD,
            on="torch<1.10",
            because="C++ held the impl, not the wrapper",
        ),
        Expect("tensor", "alive", probe="expiry", stage=HELD, on="torch-*", because="C++ holds the wrapper as well"),
        Expect("tensor", "del", on="torch<1.10", because="the collector had it already"),
        Expect("tensor", "gc", on="torch-*", because="the graph's hold was in C++ and has ended; the rest is Python's"),
    ],
)
def tensor_holds_itself_after_a_graph(lab):
    """C++ holds a self-cycle for a while, then lets go: is it still collected?

    While the product lives, its grad node owns `tensor`, so the collector may not touch it (it finds one reference
    too many). When the product goes, that reference goes, and the cycle is Python's alone again: `gc`, in every
    release.
    """
    tensor = lab.tensor(requires_grad=True)
    lab.attempt("tensor.me = tensor", partial(setattr, tensor, "me", tensor))
    product = tensor * tensor
    lab.watch("tensor", tensor)
    lab.stage("saved by a graph")
    del tensor
    lab.collect()
    lab.stage(HELD)
    del product
    lab.stage("graph gone", all_names_gone=True)
