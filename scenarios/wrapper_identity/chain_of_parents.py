"""Tensors that keep the tensors they were made from."""

from functools import partial

from gradlife.scenario import Expect, scenario

DONE = "three steps done"


def watched(lab, name):
    """A tensor on memory that can be watched in every release: a numpy array that only the storage holds."""
    array = lab.fw.ones(4).numpy()
    lab.watch(name, array)
    return lab.fw.from_numpy(array)


@scenario(
    title="a chain of tensors, each with its parent",
    origin=["pytorch/tensordict#1196", "pytorch/pytorch#136358"],
    pattern="GL207",
    needs="numpy",
    expects=[
        Expect("first memory", "alive", probe="expiry", stage=DONE, on="torch-*", because="each parent has a parent"),
        Expect("first memory", "del", on="torch-*", because="a chain, not a cycle"),
    ],
)
def chain_of_parents(lab):
    """`new.parent = old`, to be able to say later where a tensor came from. No gradients are involved.

    Three steps done: only the last tensor has a name. Its `__dict__` owns the one before, that one's owns the one before,
    and so on to the first, each with its memory. It is the running total's leak (`running_total_keeps_every_graph`) made
    of attributes instead of grad nodes.

    Last dropped: the chain goes link by link; a very long one goes by way of the interpreter's trashcan.

    Fix: remember a description of the parent, or the parent weakly.
    """
    current = watched(lab, "first memory")
    for step in range(3):
        new = current * 0.5
        lab.attempt("noted in step %d" % step, partial(setattr, new, "parent", current))
        current = new
    lab.stage(DONE)
    del current, new
    lab.stage("last dropped", all_names_gone=True)


@chain_of_parents.fixed(
    title="a chain of tensors, each with its parent's name",
    fix="new.parent = 'step 2'",
    expects=[
        Expect("first memory", "dead", probe="expiry", stage=DONE, because="a text owns no tensor"),
        Expect("first memory", "del"),
    ],
)
def chain_of_parents_by_name(lab):
    """The same steps note a text."""
    current = watched(lab, "first memory")
    for step in range(3):
        new = current * 0.5
        lab.attempt("noted in step %d" % step, partial(setattr, new, "parent", "step %d" % step))
        current = new
    lab.stage(DONE)
    del current, new
    lab.stage("last dropped", all_names_gone=True)
