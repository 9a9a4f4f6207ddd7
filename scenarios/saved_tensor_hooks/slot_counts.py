"""Who owns the pack hook, the unpack hook and the packed object, counted slot by slot."""

import ctypes
import sys

from gradlife.scenario import Expect, scenario

SLOTS = "torch>=1.10"  # where nodes show their slots
NO_SLOTS = "nodes show no slots here"


class Packed:
    """What a pack hook returns here: a box with a tensor that has no history."""

    def __init__(self, tensor):
        self.tensor = tensor


def references(*things):
    """The Python reference counts of things that are named where this is called."""
    return [sys.getrefcount(thing) for thing in things]


def fortify(*things):
    """Give away 16 references for good, so that an engine which takes too many back cannot free a thing under us."""
    for thing in things:
        for _ in range(16):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


@scenario(
    title="each saved slot owns both hooks and what was packed",
    origin=["pytorch/pytorch#60975", "pytorch/pytorch#62563"],
    pattern="GL311",
    needs="hooks",
    expects=[
        Expect(
            "in the block, nothing saved",
            [2, 2, 0],
            probe="value",
            because="the context manager, and the thread's stack",
        ),
        Expect(
            "one slot saved", [3, 3, 1], probe="value", because="a slot owns the pair of hooks and its packed object"
        ),
        Expect("two slots saved", [4, 4, 2], probe="value", because="each slot owns a pair of its own"),
        Expect("after the block", [2, 2, 2], probe="value", because="the stack and the context manager let go"),
        Expect(
            "one graph dropped", [1, 1, 1], probe="value", because="the slot gives back all that it took", on="torch-*"
        ),
        Expect(
            "backward that retains",
            [1, 1, 1],
            probe="value",
            because="unpacking borrows, and the slot stays full",
            on="torch-*",
        ),
        Expect(
            "backward that frees",
            [0, 0, 0],
            probe="value",
            because="an emptied slot owns neither hooks nor data",
            on="torch-*",
        ),
        Expect("graph dropped", [0, 0, 0], probe="value", because="nothing is given back twice", on="torch-*"),
    ],
)
def slot_owns_both_hooks(lab):
    """Some operations under `saved_tensors_hooks(pack, unpack)`: who owns the hooks and what pack returned?

    Inside the block the context manager and the thread's stack of default hooks hold the pair. Each slot that saves a
    tensor then takes its *own* references to both callables (it must be able to unpack after the block is left, in
    whatever thread) and one to the packed object. So the counts rise by one a slot, fall with each graph, and
    `backward()` without retain_graph brings them to zero: an emptied slot forgets its hooks.

    Numbers are references beyond the story's own, in the order [pack, unpack, packed]. One too few, and the hooks
    die under a slot; one too many, and every forward leaks whatever the hooks close over.
    """
    box = Packed(lab.tensor())

    def pack(tensor):
        return box

    def unpack(packed):
        return packed.tensor

    fortify(pack, unpack, box)
    before = references(pack, unpack, box)

    def count(name):
        now = references(pack, unpack, box)
        lab.value(name, [now[i] - before[i] for i in range(3)])

    x = lab.tensor(requires_grad=True)
    before = references(pack, unpack, box)
    with lab.fw.autograd.graph.saved_tensors_hooks(pack, unpack):
        count("in the block, nothing saved")
        y = x.sin()
        count("one slot saved")
        z = x.sin()
        count("two slots saved")
    count("after the block")
    del z
    count("one graph dropped")
    y.sum().backward(retain_graph=True)
    count("backward that retains")
    y.sum().backward()
    count("backward that frees")
    del y
    count("graph dropped")
    lab.stage("counted")


@scenario(
    title="hooks set on one slot",
    origin=["pytorch/pytorch#60663", "pytorch/pytorch#60975"],
    pattern="GL311",
    needs="hooks",
    expects=[
        Expect(
            "registered", [1, 1, 1], probe="value", on=SLOTS, because="the slot owns the pair and the packed object"
        ),
        Expect(
            "registered again",
            "RuntimeError: Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only "
            "one pair of hooks is allowed at a time.",
            probe="value",
            on=SLOTS,
        ),
        Expect(
            "after the refusal", [1, 1, 1], probe="value", on=SLOTS, because="what a refused call took it gives back"
        ),
        Expect("after backward", [0, 0, 0], probe="value", on=SLOTS, because="the slot is empty"),
        Expect(
            "registered on an empty slot",
            "RuntimeError: Calling register_hooks on a saved tensor after it has been freed. Saved intermediate "
            "values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
            "you need to backward through the graph a second time or if you need to access saved variables after "
            "calling backward.",
            probe="value",
            on=SLOTS,
        ),
        Expect("after the second refusal", [0, 0, 0], probe="value", on=SLOTS),
    ],
)
def hooks_on_one_slot(lab):
    """`node._raw_saved_self.register_hooks(pack, unpack)` packs one slot, after the fact, and may be refused.

    The same ownership as with the context manager, for a single slot. A refusal (hooks already set, slot already
    freed) must leave the counts as they were: an error path that forgets to give back a reference is a leak which
    only shows where errors are caught and retried.
    """
    box = Packed(lab.tensor())

    def pack(tensor):
        return box

    def unpack(packed):
        return packed.tensor

    fortify(pack, unpack, box)
    before = references(pack, unpack, box)

    def count(name):
        now = references(pack, unpack, box)
        lab.value(name, [now[i] - before[i] for i in range(3)])

    x = lab.tensor(requires_grad=True)
    y = x.sin()
    if not hasattr(y.grad_fn, "_raw_saved_self"):
        lab.value("slots", NO_SLOTS)
        lab.stage("refused")
        return
    before = references(pack, unpack, box)
    y.grad_fn._raw_saved_self.register_hooks(pack, unpack)
    count("registered")
    lab.attempt("registered again", lambda: y.grad_fn._raw_saved_self.register_hooks(pack, unpack))
    count("after the refusal")
    y.sum().backward()
    count("after backward")
    lab.attempt("registered on an empty slot", lambda: y.grad_fn._raw_saved_self.register_hooks(pack, unpack))
    count("after the second refusal")
    lab.stage("counted")


@scenario(
    title="only the slot left to hold the hooks",
    origin=["pytorch/pytorch#60975"],
    pattern="GL311",
    needs="hooks",
    expects=[
        Expect(
            "pack",
            "alive",
            probe="expiry",
            stage="only the slot holds them",
            because="references are owned, not borrowed",
        ),
        Expect("unpack", "alive", probe="expiry", stage="only the slot holds them"),
        Expect("packed", "alive", probe="expiry", stage="only the slot holds them"),
        Expect("gradient", [0.540302, 0.540302, 0.540302, 0.540302], probe="value", because="cos(1), unpacked"),
        Expect("pack", "dead", probe="expiry", stage="backward done", because="the slot was released"),
        Expect("pack", "del", because="the slot gives each reference back exactly once"),
        Expect("unpack", "del"),
        Expect("packed", "del", on="torch-*"),
        Expect("packed", "alive", probe="expiry", stage="backward done", on="micrograd", because="nothing is released"),
        Expect("packed", "gc", on="micrograd", because="the node goes with its output, which has a closure"),
    ],
)
def slot_is_the_last_owner(lab):
    """The usual case: lambdas in the `with` line, a packed object that nobody else knows. The slot must own them.

    After the block nothing in Python refers to the hooks or to the packed object, and gc finds no referrer for
    them. They live because the slot owns a reference to each, they work in backward, and they die with it. A slot
    that only borrowed them would call freed memory here; one that took a reference too many would keep them for
    ever.
    """

    class Pack:
        def __call__(self, tensor):
            packed = Packed(tensor.detach())
            lab.watch("packed", packed)
            return packed

    class Unpack:
        def __call__(self, packed):
            return packed.tensor

    x = lab.tensor(requires_grad=True)
    pack, unpack = Pack(), Unpack()
    lab.watch("pack", pack)
    lab.watch("unpack", unpack)
    with lab.fw.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.sin()
    del pack, unpack
    lab.stage("only the slot holds them")
    y.sum().backward()
    lab.value("gradient", x.grad)
    lab.stage("backward done")
    del x, y
    lab.stage("graph dropped", all_names_gone=True)


@scenario(
    title="looking into a packed slot",
    origin=["pytorch/pytorch#60663", "pytorch/pytorch#60551"],
    needs="hooks",
    expects=[
        Expect("data is the packed object", True, probe="value", on="torch>=2.10"),
        Expect("unpack_hook is unpack", True, probe="value", on="torch>=2.10"),
        Expect(
            "references after looking",
            [0, 0],
            probe="value",
            on="torch>=2.10",
            because="what was lent is given back",
        ),
        Expect("unpack calls by looking", 0, probe="value", on=SLOTS, because="the raw slot is read without unpacking"),
        Expect("unpack calls by reading", 2, probe="value", on=SLOTS, because="each read of _saved_self unpacks anew"),
        Expect(
            "references after reading", [0, 0], probe="value", on=SLOTS, because="the data lent to unpack is given back"
        ),
    ],
)
def looking_into_a_packed_slot(lab):
    """`_raw_saved_self.data` lends the packed object, `_saved_self` unpacks it. Neither may keep a reference.

    Both reads must return a new reference to Python and drop it again: the raw read returns the packed object and
    the unpack hook themselves (torch 2.10 on), the read passes the packed object to your unpack hook. References in
    the order [unpack, packed], beyond those that the slot and the story hold.
    """
    calls = []
    box = Packed(lab.tensor())

    def pack(tensor):
        return box

    def unpack(packed):
        calls.append(1)
        return packed.tensor

    fortify(unpack, box)
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.sin()
    if not hasattr(y.grad_fn, "_raw_saved_self"):
        lab.value("slots", NO_SLOTS)
        lab.stage("refused")
        return
    before = references(unpack, box)

    def count(name):
        now = references(unpack, box)
        lab.value(name, [now[i] - before[i] for i in range(2)])

    before = references(unpack, box)
    slot = y.grad_fn._raw_saved_self
    if hasattr(slot, "data"):
        lab.value("data is the packed object", slot.data is box)
        lab.value("unpack_hook is unpack", slot.unpack_hook is unpack)
        count("references after looking")
    lab.value("unpack calls by looking", len(calls))
    y.grad_fn._saved_self.sum()
    y.grad_fn._saved_self.sum()
    lab.value("unpack calls by reading", len(calls))
    count("references after reading")
    del slot
    lab.stage("read")
