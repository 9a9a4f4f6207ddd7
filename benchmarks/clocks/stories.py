"""The programs: the code run once per epoch, trial or round, with and without a leak."""

from __future__ import annotations

from dataclasses import dataclass

PRELUDE = """\
import copy
import functools
import threading
from types import SimpleNamespace

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


def net(width=64):
    return nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, 1))


def train(model, optimizer, count=40):
    for _ in range(count):
        x = torch.randn(8, 32)
        optimizer.zero_grad()
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
    return loss


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.001)


"""


@dataclass(frozen=True)
class Story:
    """A program with one place, marked KEEP, where it leaks or not."""

    name: str
    body: str
    leak: str
    clean: str
    holder: str  # a name that the leak's trace must have

    def source(self, is_leaking: bool) -> str:
        """The whole program."""
        return PRELUDE + self.body.replace("KEEP", self.leak if is_leaking else self.clean)


STORIES = (
    Story(
        "epoch_losses",
        """\
model = net()
optimizer = sgd(model)
losses = []
for epoch in range(14):
    train(model, optimizer)
    loss = model(torch.randn(64, 32)).square().mean()
    losses.append(KEEP)
""",
        "loss",
        "loss.item()",
        "losses",
    ),
    Story(
        "epoch_models",
        """\
class Trainer:
    def __init__(self):
        self.model = net()
        self.optimizer = sgd(self.model)
        self.best = []

    def fit(self):
        for epoch in range(14):
            train(self.model, self.optimizer)
            KEEP

Trainer().fit()
""",
        "self.best.append(copy.deepcopy(self.model))",
        "self.best = [copy.deepcopy(self.model)]",
        "best",
    ),
    Story(
        "trials",
        """\
def trial(width):
    model = net(width)
    optimizer = torch.optim.Adam(model.parameters())
    loss = train(model, optimizer)
    return KEEP

results = []
for number in range(14):
    results.append(trial(64))
""",
        '{"model": model, "optimizer": optimizer}',
        '{"loss": loss.item()}',
        "results",
    ),
    Story(
        "folds",
        """\
class CrossValidation:
    def __init__(self):
        self.scores = {}

    def run(self, folds):
        for fold in range(folds):
            model = net()
            train(model, sgd(model))
            with torch.no_grad():
                predicted = model(torch.randn(100, 32))
            self.scores[fold] = KEEP

CrossValidation().run(14)
""",
        "predicted",
        "predicted.mean().item()",
        "scores",
    ),
    Story(
        "bayesian_rounds",
        """\
class Process:
    def __init__(self, points):
        self.points = points
        self.scale = nn.Parameter(torch.ones(()))
        self.kernel = None

    def fit(self):
        optimizer = torch.optim.Adam([self.scale])
        for _ in range(40):
            optimizer.zero_grad()
            self.kernel = torch.cdist(self.points, self.points).mul(-self.scale).exp()
            self.kernel.mean().backward()
            optimizer.step()
        self.kernel = self.kernel.detach()
        return self

rounds = []
for number in range(14):
    process = Process(torch.randn(64, 4)).fit()
    rounds.append(KEEP)
""",
        "process",
        "float(process.scale)",
        "rounds",
    ),
    Story(
        "evaluation_every_n_steps",
        """\
model = net()
optimizer = sgd(model)
state = SimpleNamespace(outputs=[])
for step in range(560):
    train(model, optimizer, 1)
    if step % 40 == 39:
        output = model(torch.randn(64, 32))
        state.outputs.append(KEEP)
""",
        "output",
        "output.mean().item()",
        "outputs",
    ),
    Story(
        "checkpoints",
        """\
model = net()
optimizer = sgd(model)
checkpoints = {}
for step in range(560):
    train(model, optimizer, 1)
    if step % 40 == 39:
        KEEP
        checkpoints[step] = {name: value.clone() for name, value in model.state_dict().items()}
""",
        "pass",
        "checkpoints.clear()",
        "checkpoints",
    ),
    Story(
        "watcher_per_trial",
        """\
backbone = nn.Linear(32, 32)

class Watcher:
    def __init__(self):
        self.seen = None
        self.handle = backbone.register_forward_hook(self.note)

    def note(self, module, inputs, output):
        self.seen = output.detach()

for number in range(14):
    watcher = Watcher()
    head = nn.Linear(32, 1)
    model = nn.Sequential(backbone, head)
    train(model, sgd(head))
    KEEP
""",
        "pass",
        "watcher.handle.remove()",
        "_forward_hooks",
    ),
    Story(
        "explainer_per_call",
        """\
class Explainer:
    made = []

    def __init__(self, model, background):
        self.model, self.background = model, background
        KEEP

    def values(self, x):
        x = x.clone().requires_grad_()
        self.model(x).sum().backward()
        return x.grad - self.background.mean(0)

model = net()
optimizer = sgd(model)
for number in range(14):
    train(model, optimizer)
    Explainer(model, torch.randn(64, 32)).values(torch.randn(4, 32))
""",
        "Explainer.made.append(self)",
        "Explainer.made[:] = [self]",
        "made",
    ),
    Story(
        "restarts",
        """\
model = net()
restarts = []
for number in range(14):
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    train(model, optimizer)
    schedule.step()
    restarts.append(KEEP)
""",
        "(optimizer, schedule)",
        "schedule.get_last_lr()[0]",
        "restarts",
    ),
    Story(
        "callbacks",
        """\
class Loop:
    def __init__(self):
        self.callbacks = []
        self.model = net()
        self.optimizer = sgd(self.model)

    def run(self):
        for epoch in range(14):
            batch = torch.randn(256, 32)
            KEEP
            train(self.model, self.optimizer)
            for callback in self.callbacks:
                callback()

loop = Loop()
loop.run()
""",
        "self.callbacks.append(lambda batch=batch: batch.mean())",
        "self.callbacks[:] = [lambda batch=batch: batch.mean()]",
        "callbacks",
    ),
    Story(
        "cached_per_epoch",
        """\
@functools.lru_cache(maxsize=None)
def augmented(seed):
    return torch.randn(256, 32)

model = net()
optimizer = sgd(model)
for epoch in range(14):
    augmented(KEEP)
    train(model, optimizer)
""",
        "epoch",
        "epoch % 2",
        "augmented",
    ),
    Story(
        "failed_trials",
        """\
def trial():
    model = net()
    train(model, sgd(model))
    raise RuntimeError("diverged")

failures = []
for number in range(14):
    try:
        trial()
    except RuntimeError as error:
        failures.append(KEEP)
""",
        "error",
        "str(error)",
        "failures",
    ),
    Story(
        "image_board",
        """\
class Board:
    def __init__(self):
        self.queue = []

    def image(self, tag, value):
        self.queue.append((tag, value))
        KEEP

board = Board()
model = net()
optimizer = sgd(model)
for epoch in range(14):
    train(model, optimizer)
    board.image("weights", model[0].weight.detach().clone())
""",
        "pass",
        "self.queue.clear()",
        "queue",
    ),
    Story(
        "averages",
        """\
class Averages:
    def __init__(self, model):
        self.shadows = [copy.deepcopy(model.state_dict())]

    def update(self, model):
        mean = {name: 0.9 * self.shadows[-1][name] + 0.1 * value for name, value in model.state_dict().items()}
        self.shadows.append(mean)
        KEEP

model = net()
optimizer = sgd(model)
averages = Averages(model)
for step in range(560):
    train(model, optimizer, 1)
    if step % 40 == 39:
        averages.update(model)
""",
        "pass",
        "del self.shadows[:-1]",
        "shadows",
    ),
    Story(
        "episodes",
        """\
policy = net()
optimizer = sgd(policy)
memory = []
for episode in range(14):
    value = policy(torch.randn(32, 32))
    memory.append({"value": KEEP, "return": float(episode)})
    train(policy, optimizer)
""",
        "value",
        "value.mean().item()",
        "memory",
    ),
    Story(
        "stages",
        """\
class Boosted(nn.Module):
    def __init__(self):
        super().__init__()
        self.members = nn.ModuleList()

ensemble = Boosted()
for stage in range(14):
    weak = net()
    train(weak, sgd(weak))
    KEEP
    ensemble.members.append(weak)
""",
        "pass",
        "ensemble.members = nn.ModuleList()",
        "members",
    ),
    Story(
        "meters",
        """\
class Meter:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value)

model = net()
optimizer = sgd(model)
meters = {}
for epoch in range(14):
    meter = meters[KEEP] = Meter()
    train(model, optimizer)
    meter.update(model(torch.randn(64, 32)).detach())
""",
        "epoch",
        '"validation"',
        "meters",
    ),
    Story(
        "clients",
        """\
server = net()
replies = []
for number in range(14):
    client = copy.deepcopy(server)
    train(client, sgd(client))
    replies.append([value.detach() for value in client.parameters()])
    KEEP
    with torch.no_grad():
        for own, value in zip(server.parameters(), replies[-1]):
            own.mul_(0.5).add_(value, alpha=0.5)
""",
        "pass",
        "replies = replies[-1:]",
        "replies",
    ),
    Story(
        "tasks",
        """\
class Learner:
    def __init__(self):
        self.model = net()
        self.anchors = []

    def consolidate(self):
        self.anchors.append([value.detach().clone() for value in self.model.parameters()])
        KEEP

learner = Learner()
for task in range(14):
    train(learner.model, torch.optim.Adam(learner.model.parameters()))
    learner.consolidate()
""",
        "pass",
        "self.anchors = self.anchors[-2:]",
        "anchors",
    ),
)
