"""Evaluation: states of metrics, predictions, outputs of validation steps."""

from __future__ import annotations

from benchmarks.field.entry import PATTERN, Entry
from benchmarks.twins.pair import Pair

ENTRIES = (
    Entry(
        Pair(
            "metric_never_reset",
            "preds|target|metric",
            """\
class Metric:
    def __init__(self):
        self._defaults = {}

    def add_state(self, name, default):
        self._defaults[name] = default
        setattr(self, name, list(default))

    def reset(self):
        for name, default in self._defaults.items():
            setattr(self, name, list(default))


class AveragePrecision(Metric):
    def __init__(self):
        super().__init__()
        self.add_state("preds", [])
        self.add_state("target", [])

    def update(self, preds, target):
        self.preds.append(preds)
        self.target.append(target)

    def compute(self):
        return (torch.cat(self.preds) - torch.cat(self.target)).abs().mean()


metric = AveragePrecision()
for _ in range(STEPS):
    train(batch())
    for _ in range(3):
        x = batch(32)
        with torch.no_grad():
            metric.update(net(x), x[:, :8])
    score = float(metric.compute())
""",
            (("    score = float(metric.compute())\n", "    score = float(metric.compute())\n    metric.reset()\n"),),
            "each validation adds to the states of the one before",
            "the metric is reset after each validation",
        ),
        "NRCan/geo-deep-learning#582",
        "self.preds.append(|self.target.append(",
        advice="reset|clear",
    ),
    Entry(
        Pair(
            "metric_called_as_a_function",
            "preds|average_precision",
            """\
class AveragePrecision(nn.Module):
    def __init__(self):
        super().__init__()
        self.preds = []
        self.target = []

    def forward(self, preds, target):
        self.preds.append(preds.detach())
        self.target.append(target)
        return (preds - target).abs().mean()


average_precision = AveragePrecision()
for _ in range(STEPS):
    x = batch(64)
    train(x)
    with torch.no_grad():
        value = float(average_precision(net(x), x[:, :8]))
""",
            (
                (
                    "        value = float(average_precision(net(x), x[:, :8]))\n",
                    "        value = float(average_precision(net(x), x[:, :8]))\n"
                    "        average_precision.preds.clear()\n        average_precision.target.clear()\n",
                ),
            ),
            "a metric that is asked for its value of one batch gathers all batches",
            "its states are cleared",
        ),
        "Lightning-AI/torchmetrics#3294",
        "self.preds.append(|self.target.append(",
    ),
    Entry(
        Pair(
            "accuracy_results_of_all_epochs",
            "val_accuracy_results",
            """\
class Trainer:
    def __init__(self):
        self.val_accuracy_results = []

    def validation_step(self, x):
        with torch.no_grad():
            errors = (net(x) - x[:, :8]).square()
        self.val_accuracy_results.append(errors)

    def validation_epoch_end(self):
        return float(torch.cat(self.val_accuracy_results).mean())


trainer = Trainer()
for _ in range(STEPS):
    train(batch())
    trainer.validation_step(batch(64))
    trainer.validation_epoch_end()
""",
            (
                (
                    "        return float(torch.cat(self.val_accuracy_results).mean())\n",
                    "        mean = float(torch.cat(self.val_accuracy_results).mean())\n"
                    "        self.val_accuracy_results.clear()\n        return mean\n",
                ),
            ),
            "results of each epoch are appended to those before",
            "they are cleared at the epoch's end",
        ),
        "Lightning-AI/pytorch-lightning#14270",
        "self.val_accuracy_results.append(",
    ),
    Entry(
        Pair(
            "outputs_stored_for_nobody",
            "outputs|loop",
            """\
class EvaluationLoop:
    def __init__(self, module):
        self.module = module
        self.outputs = []

    def run_batch(self, x):
        output = self.module.validation_step(x)
        self.on_batch_end(output)
        self.outputs.append(output)

    def on_batch_end(self, output):
        self.last = float(output["loss"])


class Module:
    def validation_step(self, x):
        with torch.no_grad():
            y = net(x)
        return {"loss": y.square().mean(), "y": y}


loop = EvaluationLoop(Module())
for _ in range(STEPS):
    loop.run_batch(batch(64))
""",
            (
                (
                    "        self.outputs.append(output)\n",
                    '        if hasattr(self.module, "validation_epoch_end"):\n            self.outputs.append(output)\n',
                ),
            ),
            "what a step returns is stored although no hook takes it",
            "it is stored if there is a hook",
        ),
        "Lightning-AI/pytorch-lightning#8583",
        "self.outputs.append(",
        step_on="__main__:EvaluationLoop.run_batch",
    ),
    Entry(
        Pair(
            "predictions_concatenated",
            "all_predictions",
            """\
all_predictions = torch.empty(0, 8)
correct = 0
for _ in range(STEPS):
    x = batch(64)
    with torch.no_grad():
        logits = net(x)
    correct += int((logits.argmax(1) == 0).sum())
    all_predictions = torch.cat([all_predictions, logits])
""",
            (("torch.cat([all_predictions, logits])", "logits"),),
            "logits of all batches are concatenated until the evaluation ends",
            "the last logits are kept",
        ),
        PATTERN,
        "torch.cat([all_predictions",
        step_on="torch.nn:Module.__call__",
    ),
    Entry(
        Pair(
            "hardest_examples",
            "hardest",
            """\
import heapq
import itertools

hardest = []
numbers = itertools.count()
for _ in range(STEPS):
    x = batch()
    loss = float(train(x))
    heapq.heappush(hardest, (loss, next(numbers), x))
    worst = max(hardest)[0]
""",
            (
                (
                    "    worst = max(hardest)[0]\n",
                    "    worst = max(hardest)[0]\n    if len(hardest) > 5:\n        heapq.heappop(hardest)\n",
                ),
            ),
            "the heap of the hardest examples never drops one",
            "it keeps five",
        ),
        PATTERN,
        "heapq.heappush(",
    ),
)
