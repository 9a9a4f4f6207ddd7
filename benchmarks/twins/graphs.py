"""Autograd: graphs that go on from step to step, hooks, contexts, and gradients with graphs."""

from __future__ import annotations

from benchmarks.twins.pair import Pair

PAIRS = (
    Pair(
        "state_of_a_cell",
        "h|c",
        """\
cell = nn.LSTMCell(64, 48)
out = nn.Linear(48, 8)
cell_optimizer = torch.optim.Adam(out.parameters(), lr=1e-3)
h, c = torch.zeros(16, 48), torch.zeros(16, 48)
for step in range(STEPS):
    h, c = cell(batch(), (h, c))
    loss = out(h.detach()).square().mean()
    cell_optimizer.zero_grad()
    loss.backward()
    cell_optimizer.step()
""",
        (("(batch(), (h, c))", "(batch(), (h.detach(), c.detach()))"),),
        "the state goes on with the graph of all steps",
        "the state is detached before each step",
    ),
    Pair(
        "state_of_a_layer",
        "state",
        """\
rnn = nn.LSTM(64, 48, batch_first=True)
out = nn.Linear(48, 8)
rnn_optimizer = torch.optim.SGD(out.parameters(), lr=1e-3)
state = None
for step in range(STEPS):
    y, state = rnn(torch.randn(8, 4, 64), state)
    loss = out(y.detach()).square().mean()
    rnn_optimizer.zero_grad()
    loss.backward()
    rnn_optimizer.step()
""",
        (("    loss = out(", "    state = tuple(part.detach() for part in state)\n    loss = out("),),
        "the state goes on with the graph of all steps",
        "both parts are detached",
    ),
    Pair(
        "state_as_one_name",
        "state",
        """\
cell = nn.LSTMCell(64, 48)
out = nn.Linear(48, 8)
cell_optimizer = torch.optim.SGD(out.parameters(), lr=1e-3)
state = torch.zeros(16, 48), torch.zeros(16, 48)
for step in range(STEPS):
    state = cell(batch(), state)
    loss = out(state[0].detach()).square().mean()
    cell_optimizer.zero_grad()
    loss.backward()
    cell_optimizer.step()
""",
        (("cell(batch(), state)", "tuple(part.detach() for part in cell(batch(), state))"),),
        "the pair goes on with the graph of all steps",
        "both parts are detached",
    ),
    Pair(
        "state_on_the_model",
        "hidden",
        """\
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(64, 64)
        self.hidden = torch.zeros(16, 64)

    def forward(self, x):
        self.hidden = self.cell(x, self.hidden)
        return self.hidden


memory = Memory()
for step in range(STEPS):
    train(memory(batch()).detach())
""",
        (("self.cell(x, self.hidden)", "self.cell(x, self.hidden.detach())"),),
        "the hidden state on the model has the graph of all steps",
        "it is detached before it is used again",
    ),
    Pair(
        "truncated_in_time",
        "hidden",
        """\
cell = nn.GRUCell(64, 64)
hidden = torch.zeros(16, 64)
for step in range(STEPS):
    hidden = cell(batch(), hidden)
    train(hidden.detach())
    if step % 4 == 3:
        hidden = hidden.clone()
""",
        (("hidden.clone()", "hidden.detach()"),),
        "the graph is never cut",
        "the graph is cut every four steps",
        steps=(40, 400),
    ),
    Pair(
        "gradients_with_graphs",
        "grad",
        """\
scale = nn.Parameter(torch.ones(64))
for step in range(STEPS):
    x = batch()
    loss = (x * scale.square()).square().mean()
    loss.backward(create_graph=True)
    penalty = scale.grad.norm().detach()
    train(x)
    scale.data -= 1e-4 * scale.grad.data
""",
        (("scale.grad.data\n", "scale.grad.data\n    scale.grad = None\n"),),
        "gradients with graphs are added up and never reset",
        "the gradient is dropped after the step",
    ),
    Pair(
        "penalties",
        "penalties",
        """\
penalties = []
for step in range(STEPS):
    x = batch().requires_grad_()
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    penalty = (slope.norm(dim=1) - 1).square().mean()
    penalties.append(penalty)
    loss = net(x).square().mean() + penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        (("append(penalty)", "append(penalty.item())"),),
        "each penalty keeps its graph, with the gradients in it",
        "a number for each step",
        logs=True,
    ),
    Pair(
        "average_of_the_weights",
        "average",
        """\
average = {name: value.detach().clone() for name, value in net.named_parameters()}
for step in range(STEPS):
    train(batch())
    for name, value in net.named_parameters():
        average[name] = 0.99 * average[name] + 0.01 * value
""",
        (("0.01 * value", "0.01 * value.detach()"),),
        "the average has the graph of all earlier ones",
        "made of detached weights",
    ),
    Pair(
        "average_in_place",
        "shadow|slow",
        """\
class Average:
    def __init__(self, model):
        self.shadow = [parameter.detach().clone() for parameter in model.parameters()]
        self.slow = []

    def update(self, model):
        for old, new in zip(self.shadow, model.parameters()):
            old.mul_(0.99).add_(new.detach(), alpha=0.01)
        self.slow.append([old.clone() for old in self.shadow])


average = Average(net)
for step in range(STEPS):
    train(batch())
    average.update(net)
""",
        (
            (
                "self.slow.append([old.clone() for old in self.shadow])",
                "self.slow = [old.clone() for old in self.shadow]",
            ),
        ),
        "a copy of each average is kept",
        "the copy is replaced",
    ),
    Pair(
        "fast_weights",
        "fast",
        """\
fast = torch.randn(64, 8, requires_grad=True)
for step in range(STEPS):
    x = batch()
    inner = (x @ fast).square().mean()
    (gradient,) = torch.autograd.grad(inner, fast, create_graph=True)
    fast = fast - 0.01 * gradient
    train(x)
""",
        (("    train(x)\n", "    fast = fast.detach().requires_grad_()\n    train(x)\n"),),
        "each inner step hangs on the one before, and nothing cuts them",
        "the weights are cut loose after each task",
    ),
    Pair(
        "keys_of_contrast",
        "queue",
        """\
encoder = nn.Linear(64, 32)
queue = torch.randn(64, 32)
for step in range(STEPS):
    x = batch()
    keys = encoder(x)
    queue = torch.cat([keys, queue])[:64]
    train(x)
""",
        (("torch.cat([keys, queue])", "torch.cat([keys.detach(), queue])"),),
        "the queue has 64 rows for ever, but its graph goes back to the first step",
        "the keys are detached",
    ),
    Pair(
        "attention_maps",
        "maps",
        """\
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.maps = []
        self.query = nn.Linear(64, 64)

    def forward(self, x):
        weights = (self.query(x) @ x.T).softmax(-1)
        self.maps.append(weights)
        return weights @ x


attention = Attention()
for step in range(STEPS):
    x = batch()
    train(attention(x).detach())
""",
        (("self.maps.append(weights)", "self.maps = [weights.detach()]"),),
        "the module keeps the attention of every step",
        "it keeps that of the last one",
    ),
    Pair(
        "activations_in_a_hook",
        "activations",
        """\
activations = defaultdict(list)


def keep(name):
    def hook(module, inputs, output):
        activations[name].append(output.detach())

    return hook


for name, module in net.named_children():
    module.register_forward_hook(keep(name))
for step in range(STEPS):
    train(batch())
""",
        (("activations[name].append(output.detach())", "activations[name] = [output.detach()]"),),
        "the hooks add the outputs of each step to lists",
        "they keep the newest output",
    ),
    Pair(
        "statistics_in_a_hook",
        "outputs",
        """\
class Statistics:
    def __init__(self, module):
        self.mean = torch.zeros(64)
        self.outputs = []
        module.register_forward_hook(self.update)

    def update(self, module, inputs, output):
        self.mean.lerp_(output.detach().mean(0), 0.1)
        self.outputs.append(output.detach())


statistics = Statistics(net[0])
for step in range(STEPS):
    train(batch())
""",
        (("self.outputs.append(output.detach())", "self.outputs = [output.detach()]"),),
        "all outputs are kept beside the running mean",
        "a running mean and the newest output",
    ),
    Pair(
        "hooks_never_removed",
        "_forward_hooks",
        """\
def features(x):
    found = {}
    handle = net[0].register_forward_hook(lambda module, inputs, output: found.update(out=output.detach()))
    net(x)
    return found["out"]


for step in range(STEPS):
    x = batch()
    features(x)
    train(x)
""",
        (("    net(x)\n    return", "    net(x)\n    handle.remove()\n    return"),),
        "each call registers a hook and removes none",
        "the hook is removed after its use",
    ),
    Pair(
        "hooks_on_a_weight",
        "_backward_hooks|_post_accumulate_grad_hooks",
        """\
def masked(x):
    mask = (torch.rand(64, 64) > 0.5).float()
    handle = net[0].weight.register_hook(lambda gradient: gradient * mask)
    loss = train(x)
    return handle


for step in range(STEPS):
    handle = masked(batch())
""",
        (("handle = masked(batch())\n", "handle = masked(batch())\n    handle.remove()\n"),),
        "each step adds a hook with its mask to the weight",
        "the hook is removed after the step",
    ),
    Pair(
        "hooks_of_the_optimizer",
        "_optimizer_step_post_hooks",
        """\
def count(x):
    def after(optimizer, arguments, keywords):
        x.mean()

    return optimizer.register_step_post_hook(after)


for step in range(STEPS):
    x = batch()
    handle = count(x)
    train(x)
""",
        (("    train(x)\n", "    train(x)\n    handle.remove()\n"),),
        "each step registers a hook that keeps its batch",
        "it is removed after the step",
    ),
    Pair(
        "packed_tensors",
        "packed",
        """\
packed = {}


def pack(x):
    packed[len(packed)] = x
    return len(packed) - 1


def unpack(key):
    return packed[key]


for step in range(STEPS):
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        loss = net(batch().clone()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        (("    optimizer.step()\n", "    optimizer.step()\n    packed.clear()\n"),),
        "what was packed stays in the table after it was unpacked",
        "the table is cleared after each step",
    ),
    Pair(
        "output_on_the_context",
        "",
        """\
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        ctx.out = out
        return out

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.out


for step in range(STEPS):
    x = batch()
    y = Exp.apply(net(x) * 0.01)
    loss = y.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        (
            ("        ctx.out = out\n", "        ctx.save_for_backward(out)\n"),
            ("gradient * ctx.out", "gradient * ctx.saved_tensors[0]"),
        ),
        "the context keeps its own output: a cycle through C++ that waits for the collector",
        "save_for_backward keeps the output without a cycle",
        truth="needs-gc",
    ),
    Pair(
        "class_of_a_function",
        "inputs",
        """\
class Scale(torch.autograd.Function):
    inputs = []

    @staticmethod
    def forward(ctx, x):
        Scale.inputs.append(x)
        ctx.count = len(Scale.inputs)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        x = Scale.inputs[-1]
        return gradient * 2 + 0 * x


for step in range(STEPS):
    loss = Scale.apply(net(batch(32))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        (("x = Scale.inputs[-1]", "x = Scale.inputs.pop()"),),
        "the class keeps the inputs of all calls",
        "each is taken out in the backward pass",
    ),
    Pair(
        "targets_of_distillation",
        "targets",
        """\
teacher = nn.Linear(64, 8)
targets = {}
for step in range(STEPS):
    index = step
    x = batch()
    if index not in targets:
        targets[index] = (x, teacher(x))
    train(targets[index][0])
""",
        (("index = step\n", "index = step % 4\n"),),
        "the teacher's outputs are stored for an endless row of batches",
        "there are four batches",
        steps=(40, 400),
    ),
    Pair(
        "parametrizations",
        "parametrizations",
        """\
from torch.nn.utils import parametrize


class Noise(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("noise", torch.randn(64, 64) * 1e-3)

    def forward(self, weight):
        return weight + self.noise


layer = nn.Linear(64, 64)
for step in range(STEPS):
    parametrize.register_parametrization(layer, "weight", Noise())
    x = batch()
    with torch.no_grad():
        y = layer(x)
    train(y)
""",
        (("    train(y)\n", '    train(y)\n    parametrize.remove_parametrizations(layer, "weight")\n'),),
        "each step puts another parametrization on the weight",
        "it is removed after the step; the class that it made for the layer waits for the collector",
        steps=(12, 40),
        twin_truth="needs-gc",
    ),
    Pair(
        "pruned_again",
        "_pruning_methods|_forward_pre_hooks",
        """\
from torch.nn.utils import prune

layer = nn.Linear(64, 64)
for step in range(STEPS):
    prune.custom_from_mask(layer, "weight", torch.ones(64, 64))
    x = batch()
    with torch.no_grad():
        y = layer(x)
    train(y)
""",
        (("    train(y)\n", '    train(y)\n    prune.remove(layer, "weight")\n'),),
        "each step adds a method to the container of pruning methods",
        "pruning is made permanent, which removes the hook",
        steps=(12, 40),
    ),
)
