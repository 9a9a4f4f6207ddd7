"""When saved tensors are unpacked: as each node runs, or all before the backward starts."""

from gradlife.scenario import Expect, scenario

PROGRESSIVE = "a node unpacks what it saved when it runs, and frees it when it has run"
LAYERS = 3


class Offloaded:
    """Hooks that keep saved tensors as plain Python numbers and count the bytes of what is unpacked and alive."""

    def __init__(self, lab):
        self.lab = lab
        self.log = []
        self.names = []
        self.peak = 0

    def pack(self, tensor):
        return tensor.tolist()

    def unpack(self, numbers):
        tensor = self.lab.fw.tensor(numbers)
        name = "unpacked %d" % len(self.names)
        self.names.append(name)
        self.lab.watch(name, tensor)
        self.log.append("unpack")
        alive = [self.lab.bytes_alive(known) for known in self.names]
        self.peak = None if None in alive or self.peak is None else max(self.peak, sum(alive))
        return tensor

    def chain(self, x):
        """sin of sin of sin of x, with a tensor hook and a node hook on each."""
        y = x
        with self.lab.fw.autograd.graph.saved_tensors_hooks(self.pack, self.unpack):
            for i in range(LAYERS):
                y = y.sin()
                y.register_hook(lambda grad, i=i: self.log.append("gradient of %d" % i))
                y.grad_fn.register_hook(lambda inputs, outputs, i=i: self.log.append("ran %d" % i))
        return y


ORDER = ["gradient of 2", "unpack", "ran 2", "gradient of 1", "unpack", "ran 1", "gradient of 0", "unpack", "ran 0"]


@scenario(
    title="the order of unpack hooks among the other hooks",
    origin=["pytorch/pytorch#60975", "pytorch/pytorch#62654"],
    pattern="GL313",
    needs="hooks node_hooks",
    expects=[
        Expect("order", ORDER, probe="value", because=PROGRESSIVE),
        Expect("peak bytes unpacked", 16, probe="value", on="torch-2.*", because="one tensor of 4 floats at a time"),
        Expect("unpacked 0", "del"),
        Expect("unpacked 1", "del"),
        Expect("unpacked 2", "del"),
    ],
)
def unpack_order(lab):
    """Offloading saves memory because what was packed comes back one node at a time. Does it?

    Three layers, each with a saved tensor packed to plain numbers, a hook on its gradient and a hook on its node.
    For each layer, last first: the gradient arrives (tensor hook), the node unpacks, computes, frees what it
    unpacked, and its own hook says that it ran. The peak of unpacked memory is one tensor, not the model.

    The tempting alternative, to unpack everything when backward starts, breaks both: the unpack hooks fire before
    all gradient hooks, and the peak is the whole packed set, which is what the hooks were there to avoid. Switch
    the engine's `unpack_schedule` to `upfront` to see it.
    """
    hooks = Offloaded(lab)
    x = lab.tensor(requires_grad=True)
    y = hooks.chain(x)
    y.sum().backward()
    lab.value("order", hooks.log)
    lab.value("peak bytes unpacked", hooks.peak)
    lab.value("gradient", x.grad)
    lab.stage("backward done", all_names_gone=True)


@scenario(
    title="unpack hooks under a second backward",
    origin=["pytorch/pytorch#60975"],
    pattern="GL313",
    needs="hooks node_hooks",
    expects=[
        Expect("order, first", ORDER, probe="value", because=PROGRESSIVE),
        Expect(
            "order, second",
            ["gradient of 1", "unpack", "ran 1", "gradient of 0", "unpack", "ran 0"],
            probe="value",
            because="the second derivative runs through the graph of the first",
        ),
        Expect(
            "peak bytes unpacked, first",
            48,
            probe="value",
            on="torch-2.*",
            because="the new graph saved what was unpacked",
        ),
        Expect("second derivative", -0.6598, probe="value", because="of sin(sin(sin(x))) at 1"),
    ],
)
def unpack_order_of_a_second_backward(lab):
    """`create_graph=True` turns the backward into a forward: it saves, and what it saves is what was just unpacked.

    The first backward unpacks layer by layer as before. But its own operations save tensors for the second
    backward, among them the unpacked ones, and no hooks are active at that time, so they are kept as they are. The
    peak is the whole set: a second derivative undoes the offloading. The fix: enter the hooks again around the
    first backward.
    """
    hooks = Offloaded(lab)
    x = lab.tensor(requires_grad=True)
    y = hooks.chain(x)
    (grad,) = lab.fw.autograd.grad(y.sum(), x, create_graph=True)
    lab.value("order, first", hooks.log)
    lab.value("peak bytes unpacked, first", hooks.peak)
    del hooks.log[:]
    lab.stage("first backward")
    grad.sum().backward()
    lab.value("order, second", hooks.log)
    lab.value("second derivative", round(float(x.grad[0]), 4))
    lab.stage("second backward")


@unpack_order_of_a_second_backward.fixed(
    title="unpack hooks under a second backward, hooks around the first",
    fix="enter the hooks around the first backward as well",
    expects=[
        Expect(
            "peak bytes unpacked, first", 16, probe="value", on="torch-2.*", because="what the backward saves is packed"
        ),
        Expect("second derivative", -0.6598, probe="value"),
    ],
)
def second_backward_under_hooks(lab):
    """With hooks around the first backward too, what it saves is packed again, and the peak is one tensor."""
    hooks = Offloaded(lab)
    x = lab.tensor(requires_grad=True)
    y = hooks.chain(x)
    with lab.fw.autograd.graph.saved_tensors_hooks(hooks.pack, hooks.unpack):
        (grad,) = lab.fw.autograd.grad(y.sum(), x, create_graph=True)
    lab.value("peak bytes unpacked, first", hooks.peak)
    lab.stage("first backward")
    grad.sum().backward()
    lab.value("second derivative", round(float(x.grad[0]), 4))
    lab.stage("second backward")


class Checkpoint:
    """Checkpointing by hooks: pack keeps an index only; the first unpack of a segment recomputes the whole segment."""

    def __init__(self, lab, peak):
        self.lab = lab
        self.peak = peak  # one list for all segments: bytes alive at each unpack
        self.known = []
        self.count = 0

    def run(self, function, x):
        """The segment's output, with nothing saved but its input."""
        self.function, self.x = function, x
        with self.lab.fw.autograd.graph.saved_tensors_hooks(self.pack, self.unpack):
            return function(x)

    def pack(self, tensor):
        self.count += 1
        return self.count - 1

    def unpack(self, index):
        if not self.known:
            self.recompute()
        tensor = self.known[index]
        self.known[index] = None
        self.peak.append([self.lab.bytes_alive(name) for name in self.peak[0]])
        if self.known.count(None) == self.count:
            self.known = []
        return tensor

    def recompute(self):
        x = self.x.detach().requires_grad_()
        with self.lab.fw.enable_grad():
            with self.lab.fw.autograd.graph.saved_tensors_hooks(self.keep, lambda packed: packed):
                self.function(x)

    def keep(self, tensor):
        tensor = tensor.detach().clone()
        name = "recomputed %d" % len(self.peak[0])
        self.peak[0].append(name)
        self.lab.watch(name, tensor)
        self.known.append(tensor)


def three_sines(x):
    """A segment that saves three tensors."""
    return x.sin().sin().sin()


@scenario(
    title="checkpointing by hooks, two segments",
    origin=["pytorch/pytorch#62654", "pytorch/pytorch#78752"],
    pattern="GL313",
    needs="hooks",
    expects=[
        Expect(
            "peak bytes recomputed", 48, probe="value", on="torch-2.*", because="one segment of three tensors at a time"
        ),
        Expect("gradient is right", True, probe="value"),
        Expect("recomputed 0", "del"),
        Expect("recomputed 5", "del"),
    ],
)
def checkpoint_by_hooks(lab):
    """Recompute instead of save: each segment's activations exist twice for a moment, and never all at once.

    pack returns a number and keeps nothing, so a segment costs only its input. The first unpack of a segment runs its
    forward again and keeps the three activations; each further unpack takes one out. When the segment's last node has
    run they are gone, and only then does backward reach the segment before it. So the peak is one segment (48 bytes
    here), not the model (96), provided that the engine unpacks as it goes.
    """
    peak = [[]]
    x = lab.tensor(requires_grad=True)
    middle = Checkpoint(lab, peak).run(three_sines, x)
    y = Checkpoint(lab, peak).run(three_sines, middle)
    lab.stage("forward done")
    y.sum().backward()
    alive = [row for row in peak[1:] if None not in row]
    lab.value("peak bytes recomputed", max(sum(row) for row in alive) if alive else None)
    plain = lab.tensor(requires_grad=True)
    three_sines(three_sines(plain)).sum().backward()
    lab.value("gradient is right", bool(lab.fw.allclose(x.grad, plain.grad)))
    lab.stage("backward done", all_names_gone=True)
