"""When hooks are called and how often, when packed data is released, and in which thread."""

import threading

from gradlife.scenario import Expect, scenario

SLOTS = "torch>=1.10"  # where nodes show their slots


class Packed:
    """What a pack hook returns here: the numbers, and a place to watch."""

    def __init__(self, tensor):
        self.numbers = tensor.tolist()


@scenario(
    title="packed data, from save to release",
    origin=["pytorch/pytorch#60975"],
    needs="hooks",
    expects=[
        Expect("packed", "alive", probe="expiry", stage="backward that retains"),
        Expect(
            "packed",
            "dead",
            probe="expiry",
            stage="backward that frees",
            because="the slot was emptied after its node ran",
            on="torch-*",
        ),
        Expect("packed", "del", on="torch-*"),
        Expect(
            "of a dropped graph",
            "dead",
            probe="expiry",
            stage="forward done",
            because="the slot went with its node",
            on="torch-*",
        ),
        Expect("of a Function", "alive", probe="expiry", stage="backward that retains"),
        Expect("of a Function", "dead", probe="expiry", stage="backward that frees", on="torch-*"),
        Expect("gradient", [1.0806, 1.0806, 1.0806, 1.0806], probe="value", because="cos(1) twice"),
    ],
)
def packed_until_released(lab):
    """What pack returned lives from the save to the release of its slot, and not a moment longer.

    Three slots: of `sin` (a C++ node), of a graph that is dropped at once, and of a custom Function that uses
    save_for_backward. A backward with retain_graph unpacks and keeps; the last one unpacks and empties; the loss is
    still alive at that point, its nodes too, but their slots are empty. For offloading hooks this is when the file
    or the host buffer may go.
    """
    fw = lab.fw
    names = iter(["packed", "of a dropped graph", "of a Function"])

    def pack(tensor):
        packed = Packed(tensor)
        lab.watch(next(names), packed)
        return packed

    def unpack(packed):
        return fw.tensor(packed.numbers)

    class Double(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (saved,) = ctx.saved_tensors
            return grad * 2 * saved

    x, w = lab.tensor(requires_grad=True), lab.tensor(requires_grad=True)
    with fw.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.sin()
        x.sin()  # dropped at once
        z = Double.apply(w)
    loss = y.sum() + z.sum()
    lab.stage("forward done")
    loss.backward(retain_graph=True)
    lab.stage("backward that retains")
    loss.backward()
    lab.value("gradient", x.grad)
    lab.stage("backward that frees")
    del y, z, loss
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="how often hooks are called",
    origin=["pytorch/pytorch#60975", "pytorch/pytorch#82156"],
    needs="hooks",
    expects=[
        Expect("packs for one sin", 1, probe="value", because="once, when the slot saves"),
        Expect(
            "unpacks for two reads", 2, probe="value", on=SLOTS, because="nothing is cached: each read unpacks anew"
        ),
        Expect("two reads give one object", False, probe="value", on=SLOTS),
        Expect("unpacks for two backwards", 2, probe="value", because="one a backward"),
        Expect("packs for save_for_backward", 1, probe="value"),
        Expect("unpacks for ctx.saved_tensors read twice", 2, probe="value", because="each read unpacks everything"),
        Expect(
            "packs for a product with a number",
            1,
            probe="value",
            on="torch-1.*",
            because="the number was saved as a tensor of no dimension, and packed like any other",
        ),
        Expect("packs for a product with a number", 0, probe="value", because="the number is no tensor of yours"),
        Expect("packs for x * x", 2, probe="value", because="two slots, although it is one tensor"),
    ],
)
def hook_calls(lab):
    """An unpack hook that decompresses, reads a file or recomputes: how often does it run?

    Once for each look. `node._saved_self` twice runs it twice, `ctx.saved_tensors` in a backward runs it for every
    saved tensor each time it is written, and a second backward runs it again. So a custom backward should read
    `ctx.saved_tensors` once, and a recomputing hook must be able to run again. Packing happens once a slot: `x * x`
    packs the same tensor twice.
    """
    fw = lab.fw
    packs, unpacks = [], []

    def pack(tensor):
        packs.append(1)
        return tensor.detach()

    def unpack(packed):
        unpacks.append(1)
        return packed

    class Double(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            ctx.saved_tensors  # the look itself is counted
            ctx.saved_tensors
            return grad * 2

    def count(name, calls):
        lab.value(name, len(calls))
        del packs[:], unpacks[:]

    x = lab.tensor(requires_grad=True)
    with fw.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.sin()
        count("packs for one sin", packs)
        if hasattr(type(y.grad_fn), "_saved_self"):
            lab.value("two reads give one object", y.grad_fn._saved_self is y.grad_fn._saved_self)
            count("unpacks for two reads", unpacks)
        total = y.sum()
        total.backward(retain_graph=True)
        total.backward()
        count("unpacks for two backwards", unpacks)
        z = Double.apply(x)
        count("packs for save_for_backward", packs)
        z.sum().backward()
        count("unpacks for ctx.saved_tensors read twice", unpacks)
        product = x * 2.0
        count("packs for a product with a number", packs)
        square = x * x
        count("packs for x * x", packs)
    lab.stage("counted")
    del product, square


@scenario(
    title="an attribute set by the pack hook",
    origin=["pytorch/pytorch#126676"],
    pattern="GL201",
    needs="hooks tensor_attributes",
    expects=[
        Expect("note in unpack", 1, probe="value", because="the packed object is handed over as it is"),
        Expect(
            "note after unpack",
            "AttributeError: 'Tensor' object has no attribute 'note'",
            probe="value",
            because="what unpack returns is made into a new tensor with the saved history",
        ),
    ],
)
def attribute_set_by_pack(lab):
    """A mark that pack puts on the tensor: seen by unpack, gone in backward.

    Your unpack hook gets the very object that pack returned. But what backward works with is another tensor, made from
    the numbers that unpack returned and the history that the slot remembered. Attributes, subclass and identity end at
    the hook. The fix: keep such marks in the packed object or in a dict of the hooks.
    """
    fw = lab.fw

    def pack(tensor):
        packed = tensor.detach()
        packed.note = 1
        return packed

    def unpack(packed):
        lab.value("note in unpack", packed.note)
        return packed

    class Double(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (saved,) = ctx.saved_tensors
            lab.attempt("note after unpack", lambda: saved.note)
            return grad * 2

    x = lab.tensor(requires_grad=True)
    with fw.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = Double.apply(x)
    y.sum().backward()
    lab.stage("backward done")


@scenario(
    title="packed data released in backward, and in other threads",
    origin=["pytorch/pytorch#60975"],
    pattern="GL312",
    needs="hooks",
    expects=[
        Expect(
            "finalizers in backward",
            ["main", "main"],
            probe="value",
            because="slots are emptied where nodes run",
            on="torch-*",
        ),
        Expect(
            "finalizers of a graph dropped in a thread",
            ["other"],
            probe="value",
            because="by whoever drops it last",
            on="torch-*",
        ),
        Expect("finalizers in backward of a thread", ["other"], probe="value", on="torch-*"),
    ],
)
def packed_released_under_the_lock(lab):
    """Backward runs without Python's global lock, and releases Python objects. It must take the lock for that.

    `backward()` gives up the interpreter lock while its C++ works. When a node has run, its slot lets go of the
    packed object and the hooks; the packed object's `__del__` is Python code. So the slot takes the lock first, in
    whatever thread that happens: the one that runs backward, or the one that drops the last name of a graph. The
    story's finalizers note their thread and make new objects; a release without the lock would corrupt the
    interpreter sooner or later.
    """
    main = threading.get_ident()
    died = []

    class Finalized:
        def __init__(self, numbers):
            self.numbers = numbers

        def __del__(self):
            [object() for _ in range(100)]
            died.append("main" if threading.get_ident() == main else "other")

    def forward():
        x = lab.tensor(requires_grad=True)
        hooks = lab.fw.autograd.graph.saved_tensors_hooks
        with hooks(lambda tensor: Finalized(tensor.tolist()), lambda packed: lab.fw.tensor(packed.numbers)):
            return [x.sin().sum()]

    def finalized(action):
        del died[:]
        action()
        return list(died)

    def in_thread(action):
        def run():
            thread = threading.Thread(target=action)
            thread.start()
            thread.join()

        return run

    both = forward() + forward()
    lab.value("finalizers in backward", finalized(lambda: [loss.backward() for loss in both]))
    dropped = forward()
    lab.value("finalizers of a graph dropped in a thread", finalized(in_thread(dropped.clear)))
    elsewhere = forward()
    lab.value("finalizers in backward of a thread", finalized(in_thread(lambda: elsewhere[0].backward())))
    lab.stage("run")
