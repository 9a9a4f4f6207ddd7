"""Fine-tuning and its libraries: adapters, hooks, copies, optimizers, schedulers, trials."""

from __future__ import annotations

from benchmarks.field.entry import PATTERN, Entry
from benchmarks.twins.pair import Pair

ENTRIES = (
    Entry(
        Pair(
            "adapters_never_deleted",
            "lora_A|lora_B",
            """\
class LoraLinear(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.lora_A = nn.ModuleDict()
        self.lora_B = nn.ModuleDict()
        self.active = None

    def update_layer(self, name):
        self.lora_A[name] = nn.Linear(64, 8, bias=False)
        self.lora_B[name] = nn.Linear(8, 64, bias=False)

    def delete_adapter(self, name):
        del self.lora_A[name]
        del self.lora_B[name]

    def forward(self, x):
        y = self.base(x)
        if self.active in self.lora_A:
            y = y + self.lora_B[self.active](self.lora_A[self.active](x))
        return y


model = nn.Sequential(LoraLinear(nn.Linear(64, 64)), nn.ReLU(), LoraLinear(nn.Linear(64, 64)))


def load_adapter(name):
    for layer in model:
        if isinstance(layer, LoraLinear):
            layer.update_layer(name)
            layer.active = name


def unload_adapter(name):
    for layer in model:
        if isinstance(layer, LoraLinear):
            layer.delete_adapter(name)


for number in range(STEPS):
    name = f"adapter-{number}"
    load_adapter(name)
    with torch.no_grad():
        score = float(model(batch()).mean())
    loaded = name
""",
            (("    loaded = name\n", "    unload_adapter(name)\n"),),
            "each adapter is loaded, evaluated and left in the model",
            "it is unloaded",
        ),
        "huggingface/peft#738",
        "self.lora_A[name] =|self.lora_B[name] =",
        advice="delete_adapter|del |pop|unload",
        step_on="__main__:load_adapter",
    ),
    Entry(
        Pair(
            "hooks_left_by_an_exception",
            "_forward_pre_hooks",
            """\
from contextlib import contextmanager
from functools import partial


def choose_adapter(module, arguments, names):
    return arguments


@contextmanager
def enable_hooks(names):
    handles = []
    for module in net:
        handles.append(module.register_forward_pre_hook(partial(choose_adapter, names=names)))
    yield
    for handle in handles:
        handle.remove()


for number in range(STEPS):
    try:
        with enable_hooks(["default"] * 16 + [batch(4)]):
            x = batch()
            train(x)
            if number % 2:
                raise ValueError("a request that cannot be answered")
    except ValueError:
        pass
""",
            (
                (
                    "    yield\n    for handle in handles:\n        handle.remove()\n",
                    "    try:\n        yield\n    finally:\n        for handle in handles:\n            handle.remove()\n",
                ),
            ),
            "an exception inside the block leaves the hooks",
            "they are removed in any case",
        ),
        "huggingface/peft#3475",
        "register_forward_pre_hook(",
        advice="finally|remove",
    ),
    Entry(
        Pair(
            "instance_in_the_cache_of_a_method",
            "anchors|Detector",
            """\
import functools


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(64, 64)

    @functools.lru_cache(maxsize=None)
    def anchors(self, height, width):
        return torch.ones(height, width)

    def forward(self, x):
        return self.body(x) + self.anchors(1, 64)


for _ in range(STEPS):
    detector = Detector()
    detector_optimizer = torch.optim.SGD(detector.parameters(), lr=1e-3)
    loss = detector(batch()).square().mean()
    loss.backward()
    detector_optimizer.step()
    del detector, detector_optimizer, loss
""",
            (("    @functools.lru_cache(maxsize=None)\n", ""),),
            "the cache of the class has each model as a key",
            "the method has no cache",
        ),
        "huggingface/transformers#45708",
        "@functools.lru_cache(|def anchors",
    ),
    Entry(
        Pair(
            "scheduler_whose_function_holds_its_owner",
            "Trial|sc|scheduler|lr_lambdas|LambdaLR",
            """\
class Trial:
    def __init__(self):
        self.lr = 1.0
        self.op = torch.optim.Adam(net.parameters())
        self.sc = torch.optim.lr_scheduler.LambdaLR(self.op, lr_lambda=lambda step: self.lr)

    def run(self):
        loss = net(batch()).square().mean()
        self.op.zero_grad()
        loss.backward()
        self.op.step()
        self.sc.step()


for _ in range(STEPS):
    Trial().run()
""",
            (("lr_lambda=lambda step: self.lr)", "lr_lambda=lambda step: 1.0)"),),
            "optimizer, scheduler, function and object form a cycle: states of Adam wait for the collector",
            "the function does not refer to the object",
            truth="needs-gc",
        ),
        "pytorch/pytorch#47589",
        "",
    ),
    Entry(
        Pair(
            "prepared_and_never_freed",
            "_models|_optimizers|accelerator",
            """\
class Accelerator:
    def __init__(self):
        self._models = []
        self._optimizers = []

    def prepare(self, model, optimizer):
        self._models.append(model)
        self._optimizers.append(optimizer)
        return model, optimizer

    def free_memory(self):
        self._models.clear()
        self._optimizers.clear()


accelerator = Accelerator()
for _ in range(STEPS):
    model = nn.Linear(64, 32)
    model, model_optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters()))
    loss = model(batch()).square().mean()
    loss.backward()
    model_optimizer.step()
    final = float(loss)
""",
            (("    final = float(loss)\n", "    accelerator.free_memory()\n"),),
            "each trial's model and optimizer stay in the lists of the accelerator",
            "they are freed after each trial",
        ),
        "huggingface/accelerate#84",
        "self._models.append(|self._optimizers.append(",
        advice="free_memory|clear",
    ),
    Entry(
        Pair(
            "activations_kept_without_backward",
            "activations",
            """\
class GradSample:
    def __init__(self, module):
        self.activations = []
        module.register_forward_hook(self.forward_hook)
        module.register_full_backward_hook(self.backward_hook)

    def forward_hook(self, module, inputs, output):
        if module.training:
            self.activations.append(inputs[0].detach())

    def backward_hook(self, module, grad_input, grad_output):
        activations = self.activations.pop()
        self.norm = float(activations.norm())


grad_sample = GradSample(net[0])
for _ in range(STEPS):
    train(batch())
    with torch.no_grad():
        net(batch(64))
""",
            (("if module.training:", "if module.training and torch.is_grad_enabled():"),),
            "a forward without a backward adds to the stack and takes nothing from it",
            "nothing is stored without gradients",
        ),
        "meta-pytorch/opacus#176",
        "self.activations.append(",
        advice="eval()|is_grad_enabled|pop|clear|detach",
    ),
    Entry(
        Pair(
            "metrics_that_are_tensors",
            "history|run",
            """\
class Run:
    def __init__(self):
        self.history = []

    def log(self, metrics):
        self.history.append(metrics)


run = Run()
for step in range(STEPS):
    loss = train(batch())
    run.log({"step": step, "loss": loss})
""",
            (('"loss": loss}', '"loss": loss.item()}'),),
            "the history of metrics has tensors with their graphs",
            "it has numbers",
            logs=True,
        ),
        "wandb/wandb#354",
        "self.history.append(|run.log(",
        advice="item()|float(|detach()",
    ),
    Entry(
        Pair(
            "trials_that_keep_their_models",
            "trials|user_attrs|study",
            """\
class Trial:
    def __init__(self, number):
        self.number = number
        self.user_attrs = {}


class Study:
    def __init__(self):
        self.trials = []

    def optimize(self, objective, count):
        for number in range(count):
            trial = Trial(number)
            trial.value = objective(trial)
            self.trials.append(trial)


def objective(trial):
    model = nn.Linear(64, 16)
    model_optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss = model(batch()).square().mean()
    loss.backward()
    model_optimizer.step()
    trial.user_attrs["model"] = model
    return float(loss)


study = Study()
study.optimize(objective, STEPS)
best = min(study.trials, key=lambda trial: trial.value)
""",
            (('    trial.user_attrs["model"] = model\n', '    trial.user_attrs["rate"] = 1e-3\n'),),
            "each trial keeps its model for the best one to be chosen",
            "a trial keeps its rate",
            logs=True,
        ),
        PATTERN,
        'trial.user_attrs["model"]|self.trials.append(',
    ),
    Entry(
        Pair(
            "averages_of_weights_kept",
            "shadows|ema",
            """\
class Ema:
    def __init__(self):
        self.shadows = [{name: value.clone() for name, value in net.state_dict().items()}]

    def update(self):
        last = self.shadows[-1]
        self.shadows.append({name: last[name].lerp(value, 0.1) for name, value in net.state_dict().items()})


ema = Ema()
for _ in range(STEPS):
    train(batch())
    ema.update()
""",
            (
                ("        self.shadows.append({", "        self.shadows[:] = [{"),
                ("state_dict().items()})\n\n\nema", "state_dict().items()}]\n\n\nema"),
            ),
            "each update adds an average to those before",
            "the average is replaced",
        ),
        PATTERN,
        "self.shadows.append(",
    ),
    Entry(
        Pair(
            "head_for_each_task",
            "param_groups|heads",
            """\
body = nn.Linear(64, 64)
body_optimizer = torch.optim.Adam(body.parameters(), lr=1e-3)
for task in range(STEPS):
    head = nn.Linear(64, 16)
    body_optimizer.add_param_group({"params": list(head.parameters())})
    loss = head(body(batch())).square().mean()
    body_optimizer.zero_grad()
    loss.backward()
    body_optimizer.step()
    score = float(loss)
""",
            (
                (
                    "    score = float(loss)\n",
                    "    group = body_optimizer.param_groups.pop()\n"
                    '    for parameter in group["params"]:\n        body_optimizer.state.pop(parameter, None)\n',
                ),
            ),
            "the optimizer keeps the head of each past task, and its state",
            "the group and the state are removed with the task",
        ),
        PATTERN,
        "add_param_group(",
    ),
)
