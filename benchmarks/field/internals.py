"""Training loops, autograd and the standard library behind them."""

from __future__ import annotations

from benchmarks.field.entry import PATTERN, Entry
from benchmarks.twins.pair import Pair

ENTRIES = (
    Entry(
        Pair(
            "total_of_losses_with_graph",
            "total_loss",
            """\
total_loss = 0
for _ in range(STEPS):
    output = net(batch())
    loss = output.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total_loss += loss
mean = float(total_loss) / STEPS
""",
            (("total_loss += loss", "total_loss += float(loss)"),),
            "the sum has the graph of each loss",
            "it is a number",
        ),
        "google/brax#152",
        "total_loss += loss",
        advice="float(|item()|detach()",
    ),
    Entry(
        Pair(
            "backward_with_create_graph",
            "grad|grad_fn|x",
            """\
def penalty():
    x = batch(64).requires_grad_()
    y = net(x).tanh().sum()
    y.backward(create_graph=True)
    return float(x.grad.norm())


for _ in range(STEPS):
    penalty()
    train(batch())
""",
            (
                (
                    "    y.backward(create_graph=True)\n    return float(x.grad.norm())\n",
                    "    (gradient,) = torch.autograd.grad(y, x, create_graph=True)\n    return float(gradient.norm())\n",
                ),
            ),
            "the gradient of `x` has a graph that holds `x`: a cycle that no collector sees",
            "the gradient is not stored in `x`",
        ),
        "pytorch/pytorch#7343",
        "y.backward(create_graph=True)",
        advice="autograd.grad|.grad = None",
    ),
    Entry(
        Pair(
            "activations_packed_and_never_unpacked",
            "storage",
            """\
storage = {}
numbers = iter(range(10**9))


def pack(x):
    key = next(numbers)
    storage[key] = x.detach().clone()
    return key


def unpack(key):
    return storage.pop(key)


def forward(x):
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return net(x).square().mean()


for _ in range(STEPS):
    loss = forward(batch())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    validation = float(forward(batch()))
""",
            (
                (
                    "    validation = float(forward(batch()))\n",
                    "    with torch.no_grad():\n        validation = float(forward(batch()))\n",
                ),
            ),
            "what a forward without backward packs is never taken from the table",
            "the validation saves nothing",
        ),
        "pytorch/pytorch#82482",
        "storage[key] =",
    ),
    Entry(
        Pair(
            "ctx_stores_its_output",
            "ctx|CubeBackward|y|grad_fn",
            """\
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x)
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * grad * x**2


for _ in range(STEPS):
    loss = Cube.apply(net(batch(64))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            (("        ctx.y = y\n", ""),),
            "the output refers to its node and the node to the output: a cycle that waits for the collector",
            "the node does not refer to the output",
            truth="needs-gc",
        ),
        "pytorch/pytorch#25340",
        "ctx.y = y",
        advice="save_for_backward",
    ),
    Entry(
        Pair(
            "hook_handles_discarded",
            "_forward_hooks",
            """\
class FaultInjection:
    def __init__(self, model):
        self.noise = batch(32)
        for module in model.modules():
            module.register_forward_hook(self.inject)

    def inject(self, module, inputs, output):
        return output


def campaign():
    injection = FaultInjection(net)
    train(batch())
    return float(injection.noise.mean())


for _ in range(STEPS):
    campaign()
    finished = True
""",
            (
                (
                    "    finished = True\n",
                    "    for module in net.modules():\n        module._forward_hooks.clear()\n",
                ),
            ),
            "each run adds hooks to the model and throws their handles away",
            "the hooks are removed after each run",
        ),
        "fffasttime/MRFI#5",
        "register_forward_hook(",
        advice="remove()",
    ),
    Entry(
        Pair(
            "node_hook_that_holds_its_output",
            "",
            """\
for _ in range(STEPS):
    y = net(batch(64)).tanh()
    scale = y
    y.grad_fn.register_hook(lambda grads, outputs, scale=scale: None)
    loss = y.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            (("scale = y\n", "scale = float(y.norm())\n"),),
            "the node has a hook that holds the node's output: a cycle through C++",
            "the hook holds a number",
        ),
        PATTERN,
        "y.grad_fn.register_hook(",
    ),
    Entry(
        Pair(
            "hidden_state_with_its_history",
            "hidden",
            """\
cell = nn.GRUCell(64, 32)
cell_optimizer = torch.optim.SGD(cell.parameters(), lr=1e-3)
hidden = torch.zeros(4, 32)
for _ in range(STEPS):
    hidden = cell(batch(4), hidden)
    loss = hidden.square().mean()
    cell_optimizer.zero_grad()
    (gradient,) = torch.autograd.grad(loss, [cell.bias_hh], retain_graph=True)
    cell.bias_hh.grad = gradient
    cell_optimizer.step()
    seen = float(loss)
""",
            (("    seen = float(loss)\n", "    hidden = hidden.detach()\n"),),
            "the hidden state has the graph of all steps before",
            "it is detached in each step",
        ),
        PATTERN,
        "hidden = cell(",
        advice="detach()",
    ),
    Entry(
        Pair(
            "updated_weights_with_their_history",
            "fast",
            """\
fast = nn.Linear(64, 8).weight
for _ in range(STEPS):
    loss = (batch() @ fast.T).square().mean()
    (gradient,) = torch.autograd.grad(loss, fast, create_graph=False)
    fast = fast - 1e-3 * gradient
    value = float(loss)
""",
            (("    value = float(loss)\n", "    fast = fast.detach().requires_grad_()\n"),),
            "each functional update adds to the graph of the weights",
            "the weights are detached after each update",
        ),
        "facebookresearch/higher#25",
        "fast = fast - ",
        advice="detach()",
        step_on="__main__:batch",
    ),
    Entry(
        Pair(
            "dead_weak_references",
            "_refs",
            """\
import weakref


class Signal:
    def __init__(self):
        self._refs = []

    def connect(self, owner, note):
        self._refs.append((weakref.ref(owner), note))

    def emit(self):
        return [note for ref, note in self._refs if ref() is not None]


class View:
    pass


signal = Signal()
for _ in range(STEPS):
    view = View()
    signal.connect(view, batch(8))
    signal.emit()
    train(batch())
""",
            (
                (
                    "        return [note for ref, note in self._refs if ref() is not None]\n",
                    "        self._refs = [entry for entry in self._refs if entry[0]() is not None]\n"
                    "        return [note for ref, note in self._refs]\n",
                ),
            ),
            "entries whose owner is gone stay in the list",
            "they are dropped when the signal is sent",
        ),
        "vispy/vispy#1593",
        "self._refs.append(",
        harmful="self._refs.clear()",
    ),
    Entry(
        Pair(
            "types_registered_for_dispatch",
            "registry|encode|dispatch_cache",
            """\
import functools


@functools.singledispatch
def encode(value):
    return None


def register(number):
    kind = type("Record", (), {"number": number})
    table = batch(8)
    encode.register(kind, lambda value: table)
    return kind


kinds = {}
for number in range(STEPS):
    kind = register(number)
    train(encode(kind())[:8])
""",
            (("    kind = register(number)\n", "    kind = kinds.get(0) or kinds.setdefault(0, register(number))\n"),),
            "each step registers a type and its function with `singledispatch`",
            "one type is registered",
        ),
        PATTERN,
        "encode.register(",
    ),
    Entry(
        Pair(
            "chain_of_signal_handlers",
            "previous|signal|handler|SIGUSR1",
            """\
import signal


class Trainer:
    def __init__(self):
        self.state = batch(32)
        previous = signal.getsignal(signal.SIGUSR1)

        def handler(number, frame):
            self.stopping = True
            if callable(previous):
                previous(number, frame)

        self.previous = previous
        signal.signal(signal.SIGUSR1, handler)

    def fit(self):
        return train(self.state)

    def teardown(self):
        signal.signal(signal.SIGUSR1, self.previous)


for _ in range(STEPS):
    trainer = Trainer()
    trainer.fit()
    last = trainer
""",
            (("    last = trainer\n", "    trainer.teardown()\n"),),
            "each trainer's handler calls the one before",
            "the trainer restores the handler that it found",
        ),
        PATTERN,
        "signal.signal(signal.SIGUSR1, handler)|previous = signal.getsignal",
        advice="signal.signal|restore|teardown",
    ),
    Entry(
        Pair(
            "step_patched_again_and_again",
            "step|optimizer",
            """\
class Scheduler:
    def __init__(self, optimizer):
        self.factors = torch.linspace(1, 0, 4096)
        self.count = 0
        inner = optimizer.step

        def step(*arguments, **options):
            self.count += 1
            return inner(*arguments, **options)

        optimizer.step = step


plain_step = optimizer.step
for epoch in range(STEPS):
    scheduler = Scheduler(optimizer)
    train(batch())
    epochs = epoch
""",
            (("    epochs = epoch\n", "    optimizer.step = plain_step\n"),),
            "each epoch's scheduler wraps the step that the one before wrapped",
            "the step is put back after each epoch",
        ),
        PATTERN,
        "optimizer.step = step|inner = optimizer.step",
        harmful="optimizer.step = None",
    ),
    Entry(
        Pair(
            "records_of_a_memory_handler",
            "buffer",
            """\
import logging
import logging.handlers

log = logging.getLogger("endpoint")
log.setLevel(logging.INFO)
log.propagate = False
memory = logging.handlers.MemoryHandler(capacity=1_000_000, target=logging.NullHandler())
log.addHandler(memory)
for step in range(STEPS):
    x = batch()
    train(x)
    log.info("batch %s of %s", step, x)
""",
            (("capacity=1_000_000", "capacity=4"),),
            "the handler keeps a million records, with their arguments, before it writes",
            "it keeps four",
        ),
        "Tribler/tribler#8530",
        "log.info(|MemoryHandler(",
        advice="capacity|flush",
    ),
    Entry(
        Pair(
            "chain_of_exceptions",
            "__context__|__cause__|last_error",
            """\
last_error = None


def attempt(number):
    activations = batch(64)
    try:
        if last_error is not None:
            raise last_error
        raise MemoryError("out of memory")
    except MemoryError as error:
        raise MemoryError(f"attempt {number}, {len(activations)} rows") from error


for number in range(STEPS):
    try:
        attempt(number)
    except MemoryError as error:
        last_error = error
    train(batch())
""",
            (("        last_error = error\n", "        last_error = MemoryError(str(error))\n"),),
            "each error has the one before as its cause, with the frames of both",
            "a new error has neither cause nor frames",
        ),
        "huggingface/trl#5776",
        "last_error = error|from error",
    ),
    Entry(
        Pair(
            "errors_with_frames",
            "errors",
            """\
errors = []


def step(number):
    x = batch(64)
    if number % 2:
        raise RuntimeError("a batch that cannot be used")
    return train(x[:16])


for number in range(STEPS):
    try:
        step(number)
    except RuntimeError as error:
        errors.append(error)
""",
            (("errors.append(error)", "errors.append(repr(error))"),),
            "each error keeps the frame it was raised in, with the batch",
            "its text is kept",
            logs=True,
        ),
        "pytorch/pytorch#10348",
        "errors.append(",
        advice="repr(|str(|traceback|with_traceback",
    ),
    Entry(
        Pair(
            "module_hook_on_a_new_module",
            "self|Wrapped|_forward_hooks|hook",
            """\
class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(64, 64)

        def hook(module, inputs, output):
            return self.scale(output)

        self.register_forward_hook(hook)

    def scale(self, output):
        return output * 0.5

    def forward(self, x):
        return self.body(x)


for _ in range(STEPS):
    wrapped = Wrapped()
    wrapped_optimizer = torch.optim.SGD(wrapped.parameters(), lr=1e-3)
    loss = wrapped(batch()).square().mean()
    loss.backward()
    wrapped_optimizer.step()
    del wrapped, wrapped_optimizer, loss
""",
            (("        self.register_forward_hook(hook)\n", ""),),
            "the module's hook holds the module: a cycle that waits for the collector",
            "the module has no hook",
            truth="needs-gc",
        ),
        "pytorch/pytorch#46386",
        "",
    ),
    Entry(
        Pair(
            "compiled_graph_for_each_shape",
            "compiled",
            """\
import torch.fx

compiled = {}


def run(x):
    key = tuple(x.shape)
    if key not in compiled:
        compiled[key] = torch.fx.symbolic_trace(net)
    return compiled[key](x)


for number in range(STEPS):
    x = batch(random.randint(4, 400))
    loss = run(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            (("key = tuple(x.shape)", "key = x.dim()"),),
            "each length of a batch is traced and kept",
            "the key is the number of dimensions",
        ),
        PATTERN,
        "compiled[key] =",
    ),
    Entry(
        Pair(
            "cached_bound_methods",
            "cache|handlers|partial",
            """\
import functools

handlers = {}


class Callback:
    def __init__(self):
        self.buffer = batch(16)

    def on_batch(self, scale):
        return self.buffer * scale


for step in range(STEPS):
    callback = Callback()
    handlers[callback.on_batch] = functools.partial(callback.on_batch, 0.5)
    train(handlers[callback.on_batch]())
""",
            (("    train(handlers[callback.on_batch]())\n", "    train(handlers.pop(callback.on_batch)())\n"),),
            "each bound method is a new key, and holds its object",
            "the entry is taken out when it is used",
        ),
        PATTERN,
        "handlers[callback.on_batch] =",
    ),
)
