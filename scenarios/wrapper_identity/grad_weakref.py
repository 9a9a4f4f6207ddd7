"""Weak references to `x.grad`, and weak collections of it, while only C++ holds the gradient."""

import importlib
import weakref

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10 micrograd"
PRESERVING = "torch-* mini:[!o]*"  # of what is left
ONEFLOW = "oneflow-*"
REFUSED = "TypeError: cannot create weak reference to 'Tensor' object"


def leaf_with_grad(fw):
    """A leaf whose gradient was not read yet."""
    x = fw.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    return x


@scenario(
    title="a weak reference to x.grad",
    origin=["pytorch/pytorch#56017", "pytorch/pytorch#22884"],
    pattern="GL201",
    expects=[
        Expect("made", None, probe="value", on=PRESERVING),
        Expect("made", REFUSED, probe="value", on=ONEFLOW, because="OneFlow tensors take no weak references"),
        Expect(
            "alive, only C++ holds", False, probe="value", on=CACHED, because="the wrapper is gone, the impl is not"
        ),
        Expect("alive, only C++ holds", True, probe="value", on=PRESERVING, because="the impl owns the wrapper"),
        Expect("is x.grad", True, probe="value", on="torch>=1.10"),
        Expect("callbacks, only C++ holds", 1, probe="value", on=CACHED, because="called although the tensor lives"),
        Expect("callbacks, only C++ holds", 0, probe="value", on=PRESERVING),
        Expect("alive, x.grad is None", False, probe="value", on=PRESERVING),
        Expect("callbacks, x.grad is None", 1, probe="value", on=PRESERVING),
    ],
)
def weakref_to_grad(lab):
    """A weak reference watches the wrapper. Does it show when the *tensor* dies?

    Caches, hooks and trackers hang on weak references to tensors. Up to torch 1.9 such a reference died as soon as
    the last Python name went, even though C++ (here x, as its `.grad`) still held the tensor and would hand it out
    again the next moment: the callback came too early. From 1.10 on the wrapper lives as long as the tensor, so the
    reference is alive, gives `x.grad` itself, and its callback is called once, when C++ lets go.

    On old releases the fix is to hold the wrapper for as long as the reference shall mean something.
    """
    x = leaf_with_grad(lab.fw)
    calls, refs = [], []
    lab.attempt("made", lambda: refs.append(weakref.ref(x.grad, lambda _: calls.append(1))))
    if refs:
        ref = refs[0]
        lab.value("alive, only C++ holds", ref() is not None)
        lab.value("callbacks, only C++ holds", len(calls))
        if ref() is not None:
            lab.value("is x.grad", ref() is x.grad)
        x.grad = None
        lab.value("alive, x.grad is None", ref() is not None)
        lab.value("callbacks, x.grad is None", len(calls))
    lab.stage("asked")


@weakref_to_grad.fixed(
    title="a weak reference to x.grad, with the gradient held",
    fix="hold the wrapper as long as the weak reference shall mean something",
    expects=[
        Expect("made", None, probe="value", on=PRESERVING),
        Expect("made", REFUSED, probe="value", on=ONEFLOW),
        Expect("alive, held", True, probe="value", on=PRESERVING, because="a Python name holds the wrapper"),
        Expect("callbacks, held", 0, probe="value", on=PRESERVING),
        Expect("callbacks, let go", 1, probe="value", on=PRESERVING),
    ],
)
def weakref_to_held_grad(lab):
    """With a name on the gradient the weak reference is right in every release."""
    x = leaf_with_grad(lab.fw)
    grad = x.grad
    calls, refs = [], []
    lab.attempt("made", lambda: refs.append(weakref.ref(grad, lambda _: calls.append(1))))
    if refs:
        lab.value("alive, held", refs[0]() is not None)
        lab.value("callbacks, held", len(calls))
        x.grad = None
        del grad
        lab.value("callbacks, let go", len(calls))
    lab.stage("asked")


@scenario(
    title="weak collections keyed by x.grad",
    origin=["pytorch/pytorch#56017", "pytorch/pytorch#145253"],
    pattern="GL201",
    expects=[
        Expect(kind, value, probe="value", on=on, because=because)
        for kind in ("WeakValueDictionary", "WeakKeyDictionary", "WeakSet")
        for on, value, because in (
            (CACHED, 0, "the entry went with its wrapper"),
            (PRESERVING, 1, "the wrapper lives as long as the tensor"),
            (ONEFLOW, REFUSED, "OneFlow tensors take no weak references"),
        )
    ],
)
def weak_collections_of_grad(lab):
    """A per-gradient cache in a WeakKeyDictionary: does the entry stay while the gradient lives?

    Each collection gets the gradient of its own leaf and counts its entries with no name of the gradient left. Up
    to torch 1.9 all three were empty at once: the wrapper that was the key had died, though the gradient had not.
    From 1.10 on the entries stay until C++ drops the gradient. (A tensor's `==` compares numbers; the collections
    get by because a tensor is hashed by its identity and compared with itself.)
    """
    x, y, z = leaf_with_grad(lab.fw), leaf_with_grad(lab.fw), leaf_with_grad(lab.fw)

    def value_dictionary():
        entries = weakref.WeakValueDictionary()
        entries["x"] = x.grad
        return len(entries)

    def key_dictionary():
        entries = weakref.WeakKeyDictionary()
        entries[y.grad] = 1
        return len(entries)

    def weak_set():
        entries = weakref.WeakSet()
        entries.add(z.grad)
        return len(entries)

    lab.attempt("WeakValueDictionary", value_dictionary)
    lab.attempt("WeakKeyDictionary", key_dictionary)
    lab.attempt("WeakSet", weak_set)
    lab.stage("counted")


@scenario(
    title="a dictionary made for tensors, keyed by x.grad",
    origin=["pytorch/pytorch#145253", "pytorch/pytorch#112301"],
    pattern="GL201",
    needs="utils.weak.WeakTensorKeyDictionary",
    expects=[
        Expect(
            "entries, gradient alive",
            1,
            probe="value",
            on="torch-2.*",
            because="the wrapper lives as long as the tensor",
        ),
        Expect("entries, gradient gone", 0, probe="value", on="torch-2.*", because="its callback took the entry out"),
    ],
)
def weak_tensor_dictionary_of_grad(lab):
    """`WeakTensorKeyDictionary`: compares its keys by identity, and asks a dying wrapper whether its tensor still lives.

    Python's own WeakKeyDictionary gets by with tensors only as long as hashes do not collide: then it asks `==`, which of
    two tensors is a tensor, not a truth. And where wrappers were resurrected (1.10 to 2.9), a collection could clear a weak
    reference to a tensor that lived on. This one is made for both.
    """
    weak = importlib.import_module(lab.fw.__name__ + ".utils.weak")
    x = leaf_with_grad(lab.fw)
    entries = weak.WeakTensorKeyDictionary()
    entries[x.grad] = 1
    others = [lab.tensor() for _ in range(4)]
    lab.value("entries, gradient alive", len(entries))
    x.grad = None
    lab.value("entries, gradient gone", len(entries))
    lab.stage("asked")
    del others
