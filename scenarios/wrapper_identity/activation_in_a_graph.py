"""An activation without a name that a graph still owns: its weak references, its attributes, the collector."""

import weakref
from functools import partial

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10"
PRESERVING = "torch>=1.10"
SLOTS = "torch>=1.9"
NAME_GONE = "only the graph owns it"
NO_TAG = "AttributeError: 'Tensor' object has no attribute 'tag'"


class Note:
    """A plain object that can be watched."""


@scenario(
    title="when the callback of a weak reference to an activation runs",
    origin=["pytorch/pytorch#56017", "pytorch/pytorch#55686"],
    pattern="GL201",
    expects=[
        Expect("callbacks, graph alive", 1, probe="value", on=CACHED, because="the wrapper died with its name"),
        Expect("callbacks, graph alive", 0, probe="value", on=PRESERVING, because="the graph owns impl and wrapper"),
        Expect("alive, graph alive", False, probe="value", on=CACHED),
        Expect("alive, graph alive", True, probe="value", on=PRESERVING),
        Expect("it is the saved tensor", True, probe="value", on=PRESERVING, because="one wrapper for one impl"),
        Expect("callbacks, graph gone", 1, probe="value", on="torch-*", because="never twice"),
        Expect("alive, graph gone", False, probe="value", on="torch-*"),
    ],
)
def weakref_to_an_activation(lab):
    """A cache of activations keyed by weak references: does an entry go when the name goes, or when the tensor goes?

    Only the graph owns it: y = t * t saved t. Up to torch 1.9 the wrapper dies with the name: the callback runs, the
    entry goes, and a moment later the saved tensor is unpacked in a fresh wrapper that no cache knows. From 1.10 on the
    wrapper lives as long as the tensor, so the callback waits for the graph.

    Graph gone: exactly one callback in every release.
    """
    calls = []
    x = lab.tensor(requires_grad=True)
    t = x * 1
    refs = []
    lab.attempt("made", lambda: refs.append(weakref.ref(t, lambda _: calls.append(1))))
    y = t * t
    del t
    if refs:
        lab.value("callbacks, graph alive", len(calls))
        lab.value("alive, graph alive", refs[0]() is not None)
        if refs[0]() is not None:
            lab.value("it is the saved tensor", y.grad_fn._saved_self is refs[0]())
    lab.stage(NAME_GONE)
    del y
    if refs:
        lab.value("callbacks, graph gone", len(calls))
        lab.value("alive, graph gone", refs[0]() is not None)
    lab.stage("graph gone")


@scenario(
    title="an object in the __dict__ of an activation",
    origin=["pytorch/pytorch#56017"],
    pattern="GL201",
    expects=[
        Expect("written", None, probe="value", on="torch-*"),
        Expect(
            "note", "dead", probe="expiry", stage=NAME_GONE, on=CACHED, because="the wrapper went, and its __dict__"
        ),
        Expect(
            "note",
            "alive",
            probe="expiry",
            stage=NAME_GONE,
            on=PRESERVING,
            because="slot -> impl -> wrapper -> __dict__ -> note",
        ),
        Expect("note", "del", on="torch-*", because="it goes with the wrapper, at the latest with the graph"),
    ],
)
def object_in_the_dict_of_an_activation(lab):
    """`t.note = note` on an activation that the next operation saves, then no name.

    Only the graph owns it: up to torch 1.9 an attribute of an unnamed activation is gone at once. From 1.10 on it is kept
    as long as any slot keeps the activation. What is handy for bookkeeping is a new way to keep memory: a trace, a config
    or another tensor that hangs on an activation lives until its graph does not.

    Graph gone: slot, impl, wrapper, `__dict__` and note go in turn, by reference counts.
    """
    note = Note()
    lab.watch("note", note)
    t = lab.tensor(requires_grad=True) * 1
    lab.attempt("written", partial(setattr, t, "note", note))
    del note
    y = t * t
    del t
    lab.stage(NAME_GONE)
    del y
    lab.stage("graph gone", all_names_gone=True)


@scenario(
    title="a ring on an activation that a graph still needs",
    origin=["pytorch/pytorch#75932", "pytorch/pytorch#56017"],
    pattern="GL204",
    expects=[
        Expect(
            "tag after gc", NO_TAG, probe="value", on="torch-1.9", because="the ring was garbage; a new wrapper came"
        ),
        Expect(
            "tag after gc", "kept", probe="value", on=PRESERVING, because="the slot's reference is not the collector's"
        ),
        Expect("gradient", [2.0] * 4, probe="value", because="whatever became of the wrapper, the numbers stayed"),
    ],
)
def collector_spares_an_activation(lab):
    """`t.me = t` on an activation, no name, collector: the saved tensor is to be whole when backward unpacks it.

    The ring t -> `__dict__` -> t looks like garbage from Python. Up to torch 1.9 it is: the wrapper is collected, its impl
    lives on in the slot, and reading the slot makes a new wrapper. From 1.10 on the slot owns the wrapper, and the
    collector finds one reference more than it can explain.

    Backward gives the right gradient in every release: the collector can take a wrapper, but never an impl.
    """
    x = lab.tensor(requires_grad=True)
    t = x * 1

    def tie(tensor):
        tensor.me = tensor
        tensor.tag = "kept"

    lab.attempt("tied", partial(tie, t))
    y = t * t
    del t
    lab.collect()
    if hasattr(y.grad_fn, "_saved_self"):
        lab.attempt("tag after gc", lambda: y.grad_fn._saved_self.tag)
    y.sum().backward()
    lab.value("gradient", x.grad)
    lab.stage("backward done")
