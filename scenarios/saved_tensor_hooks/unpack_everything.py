"""A rejected schedule: unpack every saved tensor before the backward starts."""

from gradlife.scenario import Expect, scenario

LAYERS = 3
UPFRONT = ["unpack"] * LAYERS + ["gradient of 2", "ran 2", "gradient of 1", "ran 1", "gradient of 0", "ran 0"]
PROGRESSIVE = [
    "gradient of 2",
    "unpack",
    "ran 2",
    "gradient of 1",
    "unpack",
    "ran 1",
    "gradient of 0",
    "unpack",
    "ran 0",
]


class Offloaded:
    """Hooks that keep saved tensors as plain Python numbers, a log of all hooks, and the most bytes unpacked and alive."""

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
        self.peak = max(self.peak, sum(self.lab.bytes_alive(known) for known in self.names))
        return tensor

    def backward(self):
        """Run backward through sin of sin of sin, with a hook on each gradient and each node; return x's gradient."""
        x = y = self.lab.tensor(requires_grad=True)
        with self.lab.fw.autograd.graph.saved_tensors_hooks(self.pack, self.unpack):
            for i in range(LAYERS):
                y = y.sin()
                y.register_hook(lambda grad, i=i: self.log.append("gradient of %d" % i))
                y.grad_fn.register_hook(lambda inputs, outputs, i=i: self.log.append("ran %d" % i))
        y.sum().backward()
        return x.grad


@scenario(
    title="Rejected: every saved tensor unpacked before backward",
    origin=["pytorch/pytorch#147242"],
    pattern="GL313",
    profile="torch-2.13+unpack_schedule=upfront",
    expects=[
        Expect("order", UPFRONT, probe="value", because="unpack hooks run before all other hooks"),
        Expect("peak bytes unpacked", 48, probe="value", because="the whole packed set is alive at once"),
        Expect("gradient", [0.264508] * 4, probe="value", because="the result is right all the same"),
    ],
)
def unpack_everything_first(lab):
    """What compiled autograd did before: it took every saved tensor out of the graph, and then ran the graph.

    Three layers, each with a saved tensor packed to plain numbers. When backward starts, all three are unpacked, before
    the first gradient has arrived anywhere. So unpack hooks fire out of order with other hooks, and three tensors are
    alive at once (48 bytes): offloading and checkpointing by hooks save nothing, though every number is right.
    """
    hooks = Offloaded(lab)
    lab.value("gradient", hooks.backward())
    lab.value("order", hooks.log)
    lab.value("peak bytes unpacked", hooks.peak)
    lab.stage("backward done", all_names_gone=True)


@unpack_everything_first.fixed(
    title="Accepted: a saved tensor unpacked when its node runs",
    fix="unpack progressively: each node unpacks what it needs, and frees it",
    profile="torch-2.13",
    expects=[
        Expect("order", PROGRESSIVE, probe="value", because="each node unpacks when its gradient has arrived"),
        Expect("peak bytes unpacked", 16, probe="value", because="one tensor of 4 floats at a time"),
        Expect("gradient", [0.264508] * 4, probe="value"),
    ],
)
def unpack_when_the_node_runs(lab):
    """The same program with the schedule of every release: see `unpack_order` for the releases themselves."""
    hooks = Offloaded(lab)
    lab.value("gradient", hooks.backward())
    lab.value("order", hooks.log)
    lab.value("peak bytes unpacked", hooks.peak)
    lab.stage("backward done", all_names_gone=True)
