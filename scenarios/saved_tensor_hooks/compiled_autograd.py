"""Saved tensor hooks under compiled autograd: the backward is traced as one graph first, then run."""

from gradlife.scenario import Expect, scenario

LAYERS = 3
FIRST = ["unpack"] * LAYERS + ["gradient of 2", "ran 2", "gradient of 1", "ran 1", "gradient of 0", "ran 0"]
ORDER = ["gradient of 2", "unpack", "ran 2", "gradient of 1", "unpack", "ran 1", "gradient of 0", "unpack", "ran 0"]
BEFORE = "torch<2.7"  # compiled autograd before the pull request, measured on 2.6.0
UNPACKED = "every saved tensor is unpacked while the graph is traced"
TRACED = "the unpack hooks are part of the traced graph, and run where their node would"


def compiled(lab):
    """A block in which backward is traced as a graph of operations, which then runs as it is."""
    module = lab.fw._dynamo.compiled_autograd
    enable = module._enable if hasattr(module, "_enable") else module.enable  # public up to 2.5
    return enable(lambda graph: graph)


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
        alive = [self.lab.bytes_alive(known) for known in self.names]
        self.peak = None if None in alive or self.peak is None else max(self.peak, sum(alive))
        return tensor

    def chain(self, x):
        """sin of sin of sin of x, with a hook on each gradient and each node."""
        y = x
        with self.lab.fw.autograd.graph.saved_tensors_hooks(self.pack, self.unpack):
            for i in range(LAYERS):
                y = y.sin()
                y.register_hook(lambda grad, i=i: self.log.append("gradient of %d" % i))
                y.grad_fn.register_hook(lambda inputs, outputs, i=i: self.log.append("ran %d" % i))
        return y


@scenario(
    title="the order of unpack hooks under compiled autograd",
    origin=["pytorch/pytorch#147242"],
    pattern="GL313",
    needs="hooks node_hooks compile _dynamo.compiled_autograd",
    expects=[
        Expect("order", FIRST, probe="value", on=BEFORE, because=UNPACKED),
        Expect("order", ORDER, probe="value", on="torch-2.*", because=TRACED),
        Expect("peak bytes unpacked", 48, probe="value", on=BEFORE, because="three tensors of 4 floats at once"),
        Expect("peak bytes unpacked", 16, probe="value", on="torch-2.*", because="one tensor of 4 floats at a time"),
        Expect("gradient", [0.264508] * 4, probe="value", on="torch-2.*"),
    ],
)
def unpack_order_under_compiled_autograd(lab):
    """The program of `unpack_order`, its backward traced by compiled autograd and run without a compiler.

    Before the pull request all saved tensors were unpacked while the graph was traced: the hooks ran before everything
    else, and the peak was the whole set, as in `unpack_everything_first`: PyTorch 2.6.0 gives 48 bytes here. Now the call
    of each hook is traced too, and the peak is 16 bytes.
    """
    hooks = Offloaded(lab)
    x = lab.tensor(requires_grad=True)
    total = hooks.chain(x).sum()
    with compiled(lab):
        total.backward()
    lab.value("order", hooks.log)
    lab.value("peak bytes unpacked", hooks.peak)
    lab.value("gradient", x.grad)
    lab.stage("backward done")


@scenario(
    title="a second derivative under compiled autograd is lost",
    origin=["pytorch/pytorch#147242"],
    pattern="GL313",
    needs="hooks node_hooks compile _dynamo.compiled_autograd",
    expects=[
        Expect("order", ORDER, probe="value", on="torch-2.*", because=TRACED),
        Expect(
            "gradient requires grad",
            False,
            probe="value",
            on="torch-2.*",
            because="the traced graph is run without recording, and no error says so",
        ),
    ],
)
def second_derivative_under_compiled_autograd(lab):
    """`autograd.grad(..., create_graph=True)` under compiled autograd: the gradient has no history.

    The pull request says that its way of unpacking does not work for double backward. Nothing raises: the gradient's
    values are right, and it does not require grad. A later backward from it is what fails. PyTorch 2.6.0, before the pull
    request, refuses: "compiled_autograd does not support create_graph".

    Fix: compute gradients that are to be differentiated outside the block.
    """
    hooks = Offloaded(lab)
    x = lab.tensor(requires_grad=True)
    total = hooks.chain(x).sum()
    with compiled(lab):
        (grad,) = lab.fw.autograd.grad(total, x, create_graph=True)
    lab.value("order", hooks.log)
    lab.value("gradient requires grad", grad.requires_grad)
    lab.stage("gradient computed")


@second_derivative_under_compiled_autograd.fixed(
    title="a second derivative without compiled autograd",
    fix="leave the block for gradients that are to be differentiated",
    needs="hooks node_hooks",
    expects=[Expect("gradient requires grad", True, probe="value")],
)
def second_derivative_by_the_engine(lab):
    """The same program, its backward run by the ordinary engine: the gradient has a history."""
    hooks = Offloaded(lab)
    x = lab.tensor(requires_grad=True)
    (grad,) = lab.fw.autograd.grad(hooks.chain(x).sum(), x, create_graph=True)
    lab.value("gradient requires grad", grad.requires_grad)
    lab.stage("gradient computed")


@scenario(
    title="a checkpoint under compiled autograd",
    origin=["pytorch/pytorch#147242"],
    pattern="GL313",
    needs="compile checkpoint_by_hooks _dynamo.compiled_autograd",
    expects=[
        Expect("recomputations begun at each gradient", [6, 6, 6], probe="value", on=BEFORE, because=UNPACKED),
        Expect("recomputations begun at each gradient", [0, 1, 2], probe="value", on="torch-2.*", because=TRACED),
        Expect("gradient is right", True, probe="value", on="torch-2.*"),
    ],
)
def checkpoint_under_compiled_autograd(lab):
    """Two checkpointed segments, and a hook on the gradient of each one's output and of x: how many recomputations have
    begun by then?

    A checkpoint is made of saved tensor hooks: the first unpack of a segment computes it again. If everything is unpacked
    first, both segments are computed again before the first gradient arrives, so a checkpoint saves nothing. PyTorch
    2.6.0 does that, and begins six recomputations instead of two.
    """
    fw = lab.fw
    recomputed, at_gradient = [], []

    def segment(x):
        recomputed.append(1)
        return x.sin().sin().sin()

    def seen(grad):
        at_gradient.append(len(recomputed) - 2)

    x = lab.tensor(requires_grad=True)
    middle = fw.utils.checkpoint.checkpoint(segment, x * 1, use_reentrant=False)
    y = fw.utils.checkpoint.checkpoint(segment, middle, use_reentrant=False)
    for tensor in (y, middle, x):
        tensor.register_hook(seen)
    with compiled(lab):
        y.sum().backward()
    lab.value("recomputations begun at each gradient", at_gradient)
    plain = lab.tensor(requires_grad=True)
    segment(segment(plain)).sum().backward()
    lab.value("gradient is right", bool(fw.allclose(x.grad, plain.grad)))
    lab.stage("backward done")
