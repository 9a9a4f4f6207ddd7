"""Reading saved tensors from a node: what the reader then keeps alive. The raw slot keeps nothing."""

from gradlife.scenario import Expect, scenario

NEW = "torch>=1.9"
RAW = "torch>=2.10"
SLOTS = "torch>=1.10"  # where nodes show their slots
NO_SLOTS = "nodes show no slots here"


@scenario(
    title="a saved output read off its node, and kept",
    origin=["pytorch/pytorch#60663"],
    pattern="GL303",
    expects=[
        Expect(
            "node",
            "alive",
            probe="expiry",
            stage="y dropped",
            on=NEW,
            because="the tensor read has the node as its grad_fn",
        ),
        Expect("node", "held", on=NEW, because="the story holds the tensor that it read"),
    ],
)
def saved_output_read_and_kept(lab):
    """`kept = y.grad_fn._saved_result`, for a look at the activations later. What does it keep?

    Not y: another tensor on y's storage. But that tensor was given y's history: kept -> grad node -> slot, edges,
    and the graph all the way down to the leaves. A tool that stores the saved outputs of a model keeps the whole
    graph of the step. The fix: store `.detach()`, which owns the memory and no history.
    """
    x = lab.tensor(requires_grad=True)
    y = x.exp()
    lab.watch("node", y.grad_fn)
    if not hasattr(y.grad_fn, "_saved_result"):
        lab.value("saved output", "not offered here")
        lab.stage("refused")
        return
    lab.hold(y.grad_fn._saved_result)
    lab.stage("read")
    del y
    lab.stage("y dropped", all_names_gone=True)


@saved_output_read_and_kept.fixed(
    title="a saved output read off its node, and kept detached",
    fix="keep y.grad_fn._saved_result.detach()",
    expects=[Expect("node", "del", on=NEW, because="a detached tensor has no grad_fn")],
)
def saved_output_kept_detached(lab):
    """The detached tensor owns the storage of y and nothing else; the graph goes with y."""
    x = lab.tensor(requires_grad=True)
    y = x.exp()
    lab.watch("node", y.grad_fn)
    if not hasattr(y.grad_fn, "_saved_result"):
        lab.value("saved output", "not offered here")
        lab.stage("refused")
        return
    lab.hold(y.grad_fn._saved_result.detach())
    lab.stage("read")
    del y
    lab.stage("y dropped", all_names_gone=True)


@scenario(
    title="the raw slot of a node",
    origin=["pytorch/pytorch#60551", "pytorch/pytorch#60663"],
    needs="hooks",
    expects=[
        Expect("input: data is x", True, probe="value", on=RAW, because="the slot of an input keeps the tensor"),
        Expect("input: unpack_hook", None, probe="value", on=RAW, because="no hook was set"),
        Expect(
            "output: data is y", False, probe="value", on=RAW, because="the slot of an output keeps its numbers only"
        ),
        Expect("output: data has a grad_fn", False, probe="value", on=RAW, because="numbers without history"),
        Expect("output: data shares memory", True, probe="value", on=RAW),
        Expect(
            "output: data is data", True, probe="value", on=RAW, because="the slot's inner tensor, not a copy of it"
        ),
        Expect("input: data after backward", None, probe="value", on=RAW, because="backward emptied the slot"),
    ],
)
def raw_slot(lab):
    """`_raw_saved_self` is the slot itself, not what would be unpacked from it: a look without side effects.

    `.data` shows what the slot owns: an input is the very tensor; an output is the inner tensor with the numbers
    and no history; None once backward has freed it. Nothing is computed, no version is compared, no hook runs.
    (`.data` and `.unpack_hook` are offered from torch 2.10 on.)
    """
    x = lab.tensor(requires_grad=True)
    sin, y = x.sin(), x.exp()
    if hasattr(getattr(sin.grad_fn, "_raw_saved_self", None), "data"):
        slot, own = sin.grad_fn._raw_saved_self, y.grad_fn._raw_saved_result
        lab.value("input: data is x", slot.data is x)
        lab.value("input: unpack_hook", slot.unpack_hook)
        lab.value("output: data is y", own.data is y)
        lab.value("output: data has a grad_fn", own.data.grad_fn is not None)
        lab.value("output: data shares memory", own.data.data_ptr() == y.data_ptr())
        lab.value("output: data is data", own.data is own.data)
        sin.sum().backward()
        lab.value("input: data after backward", slot.data)
        del slot, own
    lab.stage("read")


@scenario(
    title="a raw slot outlives nothing",
    origin=["pytorch/pytorch#60551"],
    pattern="GL303",
    needs="hooks",
    expects=[
        Expect(
            "factor",
            "dead",
            probe="expiry",
            stage="only the handle left",
            on=SLOTS,
            because="the handle does not own the node",
        ),
        Expect("factor.storage", "dead", probe="expiry", stage="only the handle left", on="torch-2.*"),
        Expect("factor", "del", on=SLOTS),
    ],
)
def raw_slot_keeps_nothing(lab):
    """Holding the handle of a slot does not hold the node, so it does not hold what was saved.

    The handle is a bare pointer into the node. While the node lives it is exact; once the node is gone it points at
    freed memory, and using it may show or change *another* graph's saved tensor. So this story looks, drops the
    graph, and never touches the handle again. The fix: hold the node (`y.grad_fn`) for as long as one uses its
    slots.
    """
    x = lab.tensor(requires_grad=True)
    factor = lab.tensor()
    product = x * factor
    if not hasattr(product.grad_fn, "_raw_saved_other"):
        lab.value("slots", NO_SLOTS)
        lab.stage("refused")
        return
    handle = product.grad_fn._raw_saved_other
    lab.watch("factor", factor)
    lab.stage("handle taken")
    del factor, product
    lab.stage("only the handle left", all_names_gone=True)
    del handle


@raw_slot_keeps_nothing.fixed(
    title="a raw slot with its node held",
    fix="hold the node for as long as its slots are used: node = y.grad_fn",
    expects=[
        Expect("factor.storage", "alive", probe="expiry", stage="node and handle left", on="torch-2.*"),
        Expect("numbers through the handle", [1.0, 1.0, 1.0, 1.0], probe="value", on=RAW),
        Expect("factor", "del", on=SLOTS),
    ],
)
def raw_slot_with_its_node(lab):
    """The node owns the slot, the slot owns the factor: with the node in hand the handle is safe."""
    x = lab.tensor(requires_grad=True)
    factor = lab.tensor()
    product = x * factor
    node = product.grad_fn
    if not hasattr(node, "_raw_saved_other"):
        lab.value("slots", NO_SLOTS)
        lab.stage("refused")
        return
    handle = node._raw_saved_other
    lab.watch("factor", factor)
    lab.stage("handle taken")
    del factor, product
    lab.stage("node and handle left")
    if hasattr(handle, "data"):
        lab.value("numbers through the handle", handle.data)
    del handle, node
    lab.stage("all dropped", all_names_gone=True)


@scenario(
    title="a raw slot used when its graph is gone",
    origin=["pytorch/pytorch#60551", "pytorch/pytorch#60663"],
    pattern="GL303",
    needs="engine hooks",
    expects=[
        Expect("hooks accepted", None, probe="value", on=SLOTS, because="the handle points at the stranger's slot"),
        Expect("unpack calls", 1, probe="value", on=SLOTS, because="the stranger's backward unpacked its slot"),
        Expect("stranger's gradient", [1.0] * 4, probe="value", on=SLOTS, because="cos(0): unpack gave another tensor"),
        Expect("right gradient", [0.540302] * 4, probe="value", on=SLOTS),
    ],
)
def stale_slot_reaches_a_stranger(lab):
    """What `raw_slot_keeps_nothing` does not dare: a handle is used after its node died, and hooks are set through it.

    Graph gone: the next graph's node was made where the dead one had been. The handle is a bare address, so it is now a
    handle of the stranger's slot, and nobody can tell. Hooks set: they are accepted, as by a slot of one's own.

    Stranger's backward: it calls an unpack hook that it was never given, and its gradient is wrong, without an error. In
    PyTorch 1.10 to 2.13 this happened at the first try in each release (to one of fifty graphs that were made afterwards);
    there it is freed memory, and everything may happen. Here the engine recycles the places of its slots on purpose, so that
    it happens each time and nothing is harmed; so this story does not run on PyTorch.

    Fix: hold the node for as long as one uses its slots (`raw_slot_with_its_node`).
    """
    calls = []

    def unpack(packed):
        calls.append(1)
        return packed * 0

    product = lab.tensor(requires_grad=True).sin()
    if not hasattr(product.grad_fn, "_raw_saved_self"):
        lab.value("slots", NO_SLOTS)
        lab.stage("refused")
        return
    handle = product.grad_fn._raw_saved_self
    del product
    x = lab.tensor(requires_grad=True)
    stranger = x.sin()
    lab.attempt("hooks accepted", lambda: handle.register_hooks(lambda tensor: tensor.detach(), unpack))
    stranger.sum().backward()
    lab.value("unpack calls", len(calls))
    lab.value("stranger's gradient", x.grad)
    lab.value("right gradient", lab.tensor().cos())
    lab.stage("stranger's backward done")
