"""Pack and unpack hooks that raise, and unpack hooks that do not return a tensor."""

from gradlife.scenario import Differs, Expect, scenario

OLD = "torch-1.*"
SLOTS = "torch>=1.10"  # where nodes show their slots
AS_RUNTIME_ERROR = "1.10 to 1.13 turn a hook's exception into a RuntimeError"


class Packed:
    """A plain object that can be watched."""


class Boom(Exception):
    """What the hooks of these stories raise."""


def unpack(packed):
    """Never to be called without an argument."""
    return packed


def raise_boom(packed):
    """A hook that always fails."""
    raise Boom("boom")


@scenario(
    title="a pack hook raises at the second of two tensors",
    origin=["pytorch/pytorch#60975", "pytorch/pytorch#34172", "pytorch/pytorch#94456"],
    needs="hooks",
    expects=[
        Expect("product", "RuntimeError: Boom: pack boom", probe="value", on=OLD, because=AS_RUNTIME_ERROR),
        Expect(
            "product", "Boom: pack boom", probe="value", because="the exception passes through as it is", on="torch-*"
        ),
        Expect("pack calls", 2, probe="value"),
        Expect(
            "first packed",
            "dead",
            probe="expiry",
            stage="refused",
            because="the half-made node went, with its first slot",
            on="torch-*",
        ),
        Expect("pack calls after the block", 2, probe="value", because="an exception leaves the block like any exit"),
        Expect("first packed", "del", on="torch-*"),
        Expect("pack", "del", because="no half-made slot kept it"),
    ],
)
def pack_raises(lab):
    """`x * w` saves two tensors; packing the first works, packing the second raises. What is left behind?

    The operation fails with your exception and there is no product. But a node was half made by then: one slot
    filled, with a packed object and references to both hooks. It must go completely: the first packed object dies
    at once, the hooks are released, and the `with` block takes them off the thread's stack on its way out.
    """
    calls = []

    def pack(tensor):
        calls.append(1)
        if len(calls) == 2:
            raise Boom("pack boom")
        packed = Packed()
        lab.watch("first packed", packed)
        return packed

    def multiply(pack):
        with lab.fw.autograd.graph.saved_tensors_hooks(pack, unpack):
            return x * w

    x, w = lab.tensor(requires_grad=True), lab.tensor(requires_grad=True)
    lab.watch("pack", pack)
    lab.attempt("product", lambda: multiply(pack))
    lab.value("pack calls", len(calls))
    lab.stage("refused")
    x * w  # saves two tensors, under no hooks
    lab.value("pack calls after the block", len(calls))
    pack = None
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="a pack hook set on one slot raises, and the slot stays broken",
    origin=["pytorch/pytorch#60663"],
    pattern="GL312",
    needs="hooks",
    expects=[
        Expect("registered", "Boom: boom", probe="value", on=SLOTS, because="the exception passes through"),
        Expect(
            "backward",
            "TypeError: unpack() missing 1 required positional argument: 'packed'",
            probe="value",
            on="torch>=2.0,<2.15",
            because="the hooks stayed on the slot, without anything packed to hand to them",
        ),
        Expect(
            "backward",
            "RuntimeError: the pack hook raised before saving data for this tensor",
            probe="value",
            on="torch>=2.15",
            because="backward checks for packed data before it calls unpack",
        ),
        Expect("hooks", "alive", probe="expiry", stage="broken", on=SLOTS, because="the broken slot owns them"),
        Expect("hooks", "del", because="they go with the node"),
    ],
    differs=[
        Differs("backward", between="torch<2.15 torch>=2.15", because="2.15 has another error; no lifetime differs")
    ],
)
def pack_raises_on_one_slot(lab):
    """`register_hooks` with a pack hook that raises: the exception arrives, but the hooks have been set already.

    The slot now has hooks and no packed object. Nothing says so until backward unpacks: up to PyTorch 2.14 the unpack
    hook is called with no argument at all, and 2.15 says what happened. The references are sound (they go with the node),
    the slot is not. The fix: build the graph anew after such an error, or use the context manager, which leaves nothing
    behind.
    """

    class Raising:
        def __call__(self, tensor):
            raise Boom("boom")

    x = lab.tensor(requires_grad=True)
    y = x.sin()
    pack = Raising()
    lab.watch("hooks", pack)
    lab.attempt("registered", lambda: y.grad_fn._raw_saved_self.register_hooks(pack, unpack))
    pack = None
    lab.stage("broken")
    lab.attempt("backward", lambda: y.sum().backward())
    y = None
    lab.stage("graph dropped", all_names_gone=True)


@scenario(
    title="an unpack hook raises in backward",
    origin=["pytorch/pytorch#60975", "pytorch/pytorch#34172", "pytorch/pytorch#94456"],
    needs="hooks",
    expects=[
        Expect("backward", "RuntimeError: Boom: unpack boom", probe="value", on=OLD, because=AS_RUNTIME_ERROR),
        Expect(
            "backward",
            "Boom: unpack boom",
            probe="value",
            because="the engine hands the exception on as it is",
            on="torch-*",
        ),
        Expect("backward again", "RuntimeError: Boom: unpack boom", probe="value", on=OLD, because=AS_RUNTIME_ERROR),
        Expect(
            "backward again",
            "Boom: unpack boom",
            probe="value",
            because="a slot that failed to unpack is still full",
            on="torch-*",
        ),
        Expect("packed", "alive", probe="expiry", stage="failed twice", because="nothing was released"),
        Expect("exception", "dead", probe="expiry", stage="failed twice", because="no one kept it"),
        Expect("packed", "del", because="it goes with the graph", on="torch-*"),
        Expect("gradient", None, probe="value", because="the node never ran"),
    ],
)
def unpack_raises(lab):
    """A failing unpack stops backward before the node runs; its slot stays full, for another try.

    The error crosses the engine's C++ from your hook to your call of `backward()`. It must not leave a reference to
    the exception (whose traceback holds frames, whose frames hold tensors), nor empty the slot, nor lose the packed
    object.
    """
    raised = []

    def pack(tensor):
        packed = Packed()
        lab.watch("packed", packed)
        return packed

    def raising(packed):
        error = Boom("unpack boom")
        if not raised:
            lab.watch("exception", error)
        raised.append(1)
        raise error

    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(pack, raising):
        y = x.sin()
    total = y.sum()
    lab.attempt("backward", lambda: total.backward(retain_graph=True))
    lab.attempt("backward again", lambda: total.backward(retain_graph=True))
    lab.value("gradient", x.grad)
    lab.collect()
    lab.stage("failed twice")
    y = total = None
    lab.stage("graph dropped", all_names_gone=True)


@scenario(
    title="an unpack hook returns no tensor",
    origin=["pytorch/pytorch#60663"],
    needs="hooks",
    expects=[
        Expect(
            "unpack returns " + what,
            "TypeError: Output of saved tensor unpack_hook expected to be a Tensor but got result of type " + kind,
            probe="value",
            because="checked before the node computes with it",
        )
        for what, kind in (("None", "NoneType"), ("a number", "int"), ("a list", "list"))
    ]
    + [
        Expect("unpack returns a leaf", [0.540302, 0.540302, 0.540302, 0.540302], probe="value", because="cos(1)"),
        Expect(
            "pack returns None",
            [0.540302, 0.540302, 0.540302, 0.540302],
            probe="value",
            because="None is a fine packing",
        ),
    ],
)
def unpack_returns_no_tensor(lab):
    """What may an unpack hook return? A tensor; anything else is a TypeError that names the type.

    The pack hook is free: it may return a number, a file name, or None, since only your unpack hook will see it. A
    tensor from unpack may even be a leaf that requires gradients: its numbers are used, its history is replaced by
    the one that the slot remembered.
    """
    x = lab.tensor(requires_grad=True)
    leaf = lab.tensor(requires_grad=True)

    def gradient(packed, unpacked):
        x.grad = None
        with lab.fw.autograd.graph.saved_tensors_hooks(lambda tensor: packed, lambda packed: unpacked):
            y = x.sin()
        y.sum().backward()
        return x.grad.tolist()

    lab.attempt("unpack returns None", lambda: gradient(1, None))
    lab.attempt("unpack returns a number", lambda: gradient(1, 5))
    lab.attempt("unpack returns a list", lambda: gradient(1, [1.0]))
    lab.attempt("unpack returns a leaf", lambda: gradient(1, leaf))
    lab.attempt("pack returns None", lambda: gradient(None, leaf))
    lab.stage("asked")


@scenario(
    title="a pack hook changes its argument in place",
    origin=["pytorch/pytorch#62362", "pytorch/pytorch#60975"],
    pattern="GL312",
    needs="hooks",
    expects=[
        Expect(
            where,
            "RuntimeError: A saved tensor pack hook is modifying its input in place. Tensors provided as input to "
            "pack hook can" + space + "not be modified by in-place operations as this can lead to unexpected "
            "side-effects. Please open an issue if you need to perform in-place operations on the input to a pack "
            "hook.",
            probe="value",
            on=on,
            because="the version counter is compared before and after the hook",
        )
        for where, on, space in (
            ("default hook", "torch<2.13", " "),
            ("hook on one slot", "torch>=1.10,<2.13", " "),
            ("default hook", "torch-*", ""),
            ("hook on one slot", "torch-2.*", ""),
        )
    ],
)
def pack_changes_its_argument(lab):
    """A pack hook gets the very tensor that the model computes with. Scaling it in place for compression is refused.

    The framework compares the tensor's version counter before and after the hook. Without the check the model would
    go on with changed numbers and no error. The fix: work on a copy, `tensor.clone()` or `tensor * scale`.
    """

    def in_place(tensor):
        tensor.mul_(2)
        return tensor

    def identity(packed):
        return packed

    def default():
        with lab.fw.autograd.graph.saved_tensors_hooks(in_place, identity):
            return hidden.sin().detach()

    x = lab.tensor(requires_grad=True)
    hidden = x * 1
    lab.attempt("default hook", default)
    y = (x * 1).sin()
    if hasattr(y.grad_fn, "_raw_saved_self"):
        lab.attempt("hook on one slot", lambda: y.grad_fn._raw_saved_self.register_hooks(in_place, identity))
    lab.stage("tried")


@pack_changes_its_argument.fixed(
    title="a pack hook works on a copy",
    fix="scale a copy: return tensor * 2",
    expects=[
        Expect(
            "gradient", [0.540302, 0.540302, 0.540302, 0.540302], probe="value", because="cos(1): packed and unpacked"
        )
    ],
)
def pack_works_on_a_copy(lab):
    """Out of place the packed tensor is the hook's own, and unpacking undoes what packing did."""
    x = lab.tensor(requires_grad=True)
    hidden = x * 1
    with lab.fw.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach() * 2, lambda packed: packed * 0.5):
        y = hidden.sin()
    y.sum().backward()
    lab.value("gradient", x.grad)
    lab.stage("backward done")
