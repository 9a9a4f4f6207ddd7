"""Packed data and hooks that lead back to the graph that owns them: cycles that the collector does not see."""

import weakref

from gradlife.scenario import Expect, scenario

RING = "a slot in C++ owns it, and it owns a tensor whose graph owns the slot: the collector cannot look into slots"
EMPTIED = "backward emptied the slot, which was the C++ reference in the ring"

SLOTS = "torch>=1.10"  # where nodes show their slots


class Packed:
    """What a pack hook returns here: a place to hang something on."""


def identity(packed):
    """The unpack hook that undoes nothing."""
    return packed


@scenario(
    title="packed data that holds the output",
    origin=["pytorch/pytorch#60975", "pytorch/pytorch#189025"],
    pattern="GL310",
    needs="hooks",
    expects=[
        Expect("packed", "never", because=RING),
        Expect("y", "never", because=RING),
        Expect("packed on one slot", "never", on=SLOTS, because="the way in which the hooks were set changes nothing"),
        Expect("packed holding the node", "never", because="the node is on the ring as well as its output"),
    ],
)
def packed_holds_the_output(lab):
    """A packed object with a field for "the tensor that this belongs to": slot -> packed -> y -> grad node -> slot.

    The packed object is Python's and the slot is C++'s. gc finds the packed object with one reference that no
    Python object accounts for, so it must take it for alive, and with it everything that it refers to.
    `gc.get_referrers(packed)` is empty: the ring cannot even be seen. It is the same whether the hooks came from
    the context manager or were set on one slot, and whether packed holds the output or its node. The fix: refer to
    the output weakly, or hold it detached.
    """
    fw = lab.fw
    x = lab.tensor(requires_grad=True)
    packed, one_slot, to_node = Packed(), Packed(), Packed()
    with fw.autograd.graph.saved_tensors_hooks(lambda tensor: packed, identity):
        y = x.sin()
    packed.output = y
    z = x.sin()
    if hasattr(z.grad_fn, "_raw_saved_self"):
        z.grad_fn._raw_saved_self.register_hooks(lambda tensor: one_slot, identity)
        one_slot.output = z
    with fw.autograd.graph.saved_tensors_hooks(lambda tensor: to_node, identity):
        w = x.sin()
    to_node.node = w.grad_fn
    lab.watch("packed", packed)
    lab.watch("y", y)
    lab.watch("packed on one slot", one_slot)
    lab.watch("packed holding the node", to_node)
    lab.stage("forward done")
    packed = one_slot = to_node = y = z = w = None
    lab.stage("names gone", all_names_gone=True)


@packed_holds_the_output.fixed(
    title="packed data that knows the output weakly",
    fix="packed.output = weakref.ref(y), or y.detach()",
    needs="hooks tensor_weakrefs",
    expects=[
        Expect("packed", "del", because="a weak reference owns nothing"),
        Expect("y", "del"),
        Expect("packed with a detached output", "del", because="a detached tensor has no grad node"),
    ],
)
def packed_knows_the_output(lab):
    """Weakly, or without the history: either way nothing leads from the packed object back to the slot."""
    fw = lab.fw
    x = lab.tensor(requires_grad=True)
    packed, detached = Packed(), Packed()
    with fw.autograd.graph.saved_tensors_hooks(lambda tensor: packed, identity):
        y = x.sin()
    packed.output = weakref.ref(y)
    with fw.autograd.graph.saved_tensors_hooks(lambda tensor: detached, identity):
        z = x.sin()
    detached.output = z.detach()
    lab.watch("packed", packed)
    lab.watch("y", y)
    lab.watch("packed with a detached output", detached)
    lab.stage("forward done")
    packed = detached = y = z = None
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="hooks that close over the output",
    origin=["pytorch/pytorch#60975"],
    pattern="GL310",
    needs="hooks",
    expects=[
        Expect("hooks", "never", because=RING),
        Expect("y", "never", because=RING),
    ],
)
def hooks_close_over_the_output(lab):
    """The ring through the callables instead of the packed data: slot -> hooks -> y -> grad node -> slot.

    Whoever writes hooks as closures in a function with a local `y`, or as methods of the module that keeps its last
    output, builds this without a word of it in the code. `backward()` empties the slot and frees it all; a forward
    alone leaks. The fix: hooks that need nothing but their argument, as plain functions or as methods of an object
    that never sees the output.
    """

    class Hooks:
        output = None

        def pack(self, tensor):
            return 1

        def unpack(self, packed):
            return self.output

    hooks = Hooks()
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(hooks.pack, hooks.unpack):
        y = x.sin()
    hooks.output = y
    lab.watch("hooks", hooks)
    lab.watch("y", y)
    lab.stage("forward done")
    del hooks, y
    lab.stage("names gone", all_names_gone=True)


@hooks_close_over_the_output.fixed(
    title="hooks that close over the output, until backward",
    fix="run backward without retain_graph, which empties the slot and with it its hold on the hooks",
    expects=[Expect("hooks", "del", because=EMPTIED), Expect("y", "del", because=EMPTIED)],
)
def hooks_close_over_the_output_backward(lab):
    """After backward the slot is empty: the hooks are ordinary Python objects again, and go by reference counts."""

    class Hooks:
        output = None

        def pack(self, tensor):
            return 1

        def unpack(self, packed):
            return self.output.detach()

    hooks = Hooks()
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(hooks.pack, hooks.unpack):
        y = x.sin()
    hooks.output = y
    lab.watch("hooks", hooks)
    lab.watch("y", y)
    lab.stage("forward done")
    y.sum().backward()
    del hooks, y
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="hooks with a cache of what they packed",
    origin=["pytorch/pytorch#62654", "pytorch/pytorch#82482"],
    pattern="GL310",
    needs="hooks",
    expects=[
        Expect("cache", "never", because="slot -> hooks -> cache -> a tensor whose graph owns the slot", on="torch-*"),
    ],
)
def hooks_with_a_cache(lab):
    """Checkpointing by hooks: pack stores the tensor in a list and returns its index. Whose list is it?

    The hooks own the list, each slot owns the hooks, and the list owns the tensors as the pack hook was given them:
    live, with grad_fn. The first operation's output is the second one's saved input, so the list holds a tensor
    whose graph holds a slot that holds the hooks. Non-reentrant checkpointing met this and learnt to store detached
    tensors and to clear its storage as it goes.
    """

    class Hooks:
        def __init__(self):
            self.cache = []

        def pack(self, tensor):
            self.cache.append(tensor)
            return len(self.cache) - 1

        def unpack(self, index):
            return self.cache[index]

    hooks = Hooks()
    lab.watch("cache", hooks)
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(hooks.pack, hooks.unpack):
        y = (x * 1).sin().exp()
    del hooks
    lab.stage("forward done")
    del y
    lab.stage("names gone", all_names_gone=True)


@hooks_with_a_cache.fixed(
    title="hooks with a cache of detached tensors",
    fix="cache tensor.detach()",
    expects=[Expect("cache", "del", because="the cache owns memory and no history")],
)
def hooks_with_a_detached_cache(lab):
    """The same cache without histories: slot -> hooks -> cache -> memory, and the road ends there."""

    class Hooks:
        def __init__(self):
            self.cache = []

        def pack(self, tensor):
            self.cache.append(tensor.detach())
            return len(self.cache) - 1

        def unpack(self, index):
            return self.cache[index]

    hooks = Hooks()
    lab.watch("cache", hooks)
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(hooks.pack, hooks.unpack):
        y = (x * 1).sin().exp()
    del hooks
    lab.stage("forward done")
    del y
    lab.stage("names gone", all_names_gone=True)
