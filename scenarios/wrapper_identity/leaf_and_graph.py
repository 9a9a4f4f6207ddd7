"""A tensor with its own result as an attribute: harmless while wrappers were not preserved, a leak since."""

from functools import partial

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10"
KEPT = "leaf's wrapper -> its __dict__ -> out -> grad node -> (C++) leaf -> its wrapper: one reference is in C++"
ALL_PYTHON = "the ring runs through out's closure, which the collector sees like any object of Python's"
DIED = "the wrapper is not owned by C++: it goes with its last name, and takes out and the graph along"


@scenario(
    title="a leaf carries a result computed from it",
    origin=["pytorch/pytorch#56017", "pytorch/pytorch#7343"],
    pattern="GL203",
    expects=[
        Expect("leaf", "del", on=CACHED, because=DIED),
        Expect("leaf", "never", on="torch-*", because=KEPT),
        Expect("leaf.storage", "never", on="torch>=1.10", because=KEPT),
        Expect("out", "del", on=CACHED, because=DIED),
        Expect("out", "never", on="torch-*", because=KEPT),
        Expect("leaf", "gc", on="micrograd", because=ALL_PYTHON),
        Expect("out", "gc", on="micrograd", because=ALL_PYTHON),
    ],
)
def leaf_carries_its_result(lab):
    """`leaf.out = leaf * leaf`: caching a result on the tensor that it was computed from.

    Who owns whom: the wrapper of `leaf` owns its `__dict__`, the dict owns `out`, out's impl owns the grad node of
    the product, and the node owns `leaf` (twice as a saved input, once more through the accumulator of its
    gradient). That is a ring, and the node's part of it is C++, where the collector cannot look.

    Up to torch 1.9 the ring was not closed: the node held the impl of `leaf`, not its wrapper, so the wrapper died
    with its last name and everything fell apart. Since wrappers are preserved (1.10) the ring is closed, and
    `gc.collect()` does nothing: the collector sees that the wrapper of `leaf` has an owner outside of its view, and
    must assume that the owner is alive. `out.backward()` does not help either, for the accumulator keeps the leaf.

    The fix: carry a detached result, or keep results in a structure of your own that does not hang on their inputs.
    """
    leaf = lab.tensor(requires_grad=True)
    out = leaf * leaf
    lab.attempt("leaf.out = out", partial(setattr, leaf, "out", out))
    lab.watch("leaf", leaf)
    lab.watch("out", out)
    lab.stage("carried")
    del leaf, out
    lab.stage("names gone", all_names_gone=True)


@leaf_carries_its_result.fixed(
    title="a leaf carries a detached result",
    fix="leaf.out = out.detach()",
    expects=[
        Expect("leaf", "del", on="torch-*", because="a detached tensor has no grad node, so the ring is open"),
        Expect("out", "del", on="torch-*"),
    ],
)
def leaf_carries_its_detached_result(lab):
    """A detached result shares the numbers and leaves the graph behind: leaf -> dict -> result, and that is the end."""
    leaf = lab.tensor(requires_grad=True)
    out = leaf * leaf
    lab.attempt("leaf.out = out.detach()", partial(setattr, leaf, "out", out.detach()))
    lab.watch("leaf", leaf)
    lab.watch("out", out)
    lab.stage("carried")
    del leaf, out
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="an activation carries a later activation",
    origin=["pytorch/pytorch#56017"],
    pattern="GL203",
    expects=[
        Expect("hidden", "del", on=CACHED, because=DIED),
        Expect("hidden", "never", on="torch-*", because="the node of the later tensor saved the earlier one"),
        Expect("later", "del", on=CACHED, because=DIED),
        Expect("later", "never", on="torch-*", because="it hangs on the earlier one's __dict__"),
    ],
)
def activation_carries_a_later_one(lab):
    """`hidden.later = hidden * hidden`: the same ring in the middle of a network, closed by the saved slots alone.

    The grad node of `later` saved `hidden` for its backward. From torch 1.10 on a saved input is the very tensor,
    wrapper and `__dict__` included, so the node owns the dict that owns `later` that owns the node. It is how
    debugging attributes, cached attention maps or `tensor.info = {...}` keep whole batches alive: one per step.

    Here, unlike with a leaf, a backward without retain_graph frees it, since it empties the saved slots (see the
    twin). A step that is skipped, evaluated only for its loss, or raises before backward leaks all it holds.
    """
    x = lab.tensor(requires_grad=True)
    hidden = x * 1
    later = hidden * hidden
    lab.attempt("hidden.later = later", partial(setattr, hidden, "later", later))
    lab.watch("hidden", hidden)
    lab.watch("later", later)
    lab.stage("carried")
    del hidden, later
    lab.stage("names gone", all_names_gone=True)


@activation_carries_a_later_one.fixed(
    title="an activation carries a later activation, and backward runs",
    fix="run backward (it empties the saved slots), or carry later.detach()",
    expects=[
        Expect("hidden", "del", on="torch-*", because="backward emptied the slot that closed the ring"),
        Expect("later", "del", on="torch-*"),
    ],
)
def activation_carries_a_later_one_backward(lab):
    """backward() without retain_graph releases each node's saved slots as it goes, which opens the ring."""
    x = lab.tensor(requires_grad=True)
    hidden = x * 1
    later = hidden * hidden
    lab.attempt("hidden.later = later", partial(setattr, hidden, "later", later))
    lab.watch("hidden", hidden)
    lab.watch("later", later)
    lab.stage("carried")
    later.sum().backward()
    lab.stage("backward done")
    del hidden, later
    lab.stage("names gone", all_names_gone=True)
