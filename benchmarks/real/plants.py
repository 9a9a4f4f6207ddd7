"""The leaks that are planted, one in each program, as a user would write them: by a callback, a hook or a subclass."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plant:
    """A leak: what is edited in the script, and the names that the trace must have, in order."""

    leak: str
    holder: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]

    def applied(self, source: str) -> str:
        """The script with the leak; every edit must find its place, once."""
        for before, after in self.edits:
            if source.count(before) != 1:
                raise ValueError(f"{self.leak}: {before!r} stands {source.count(before)} times in the script")
            source = source.replace(before, after)
        return source


PLANTS: dict[str, Plant] = {
    "trainer_classification": Plant(
        "forward hook each step",
        ("model", "_forward_hooks"),
        (
            ("from transformers import BertConfig", "from transformers import TrainerCallback, BertConfig"),
            (
                "trainer = Trainer(model=model,",
                """
class Watch(TrainerCallback):
    def on_step_begin(self, args, state, control, model=None, **kwargs):
        model.register_forward_hook(self.seen)

    def seen(self, module, inputs, output):
        self.norm = output.logits.detach().norm()


trainer = Trainer(callbacks=[Watch()], model=model,""",
            ),
        ),
    ),
    "trainer_language_model": Plant(
        "validation losses with graph each epoch",
        ("validation_losses",),
        (
            ("import GPT2Config", "import TrainerCallback, GPT2Config"),
            (
                "trainer = Trainer(model=model,",
                """
class Validation(TrainerCallback):
    def __init__(self):
        self.validation_losses = []
        self.rows = torch.stack([row["input_ids"] for row in texts(16, 3)])

    def on_epoch_end(self, args, state, control, model=None, **kwargs):
        self.validation_losses.append(model(input_ids=self.rows, labels=self.rows).loss)


trainer = Trainer(callbacks=[Validation()], model=model,""",
            ),
        ),
    ),
    "accelerate_loop": Plant(
        "losses with graph",
        ("losses",),
        (
            ("for epoch in range(10):", "losses = []\nfor epoch in range(10):"),
            ("        total +=", "        losses.append(loss)\n        total +="),
        ),
    ),
    "peft_lora": Plant(
        "exception kept",
        ("failures", "__traceback__"),
        (
            ("model.train()\n", "model.train()\nfailures = []\n"),
            (
                "        outputs.loss.backward()\n",
                """\
        try:
            check(outputs)
        except ValueError as error:
            failures.append(error)
        outputs.loss.backward()
""",
            ),
            (
                "torch.manual_seed(0)\n",
                """
def check(outputs):
    largest = outputs.logits.max()
    if largest > 0:
        raise ValueError("a logit is positive")


torch.manual_seed(0)
""",
            ),
        ),
    ),
    "lightning_regression": Plant(
        "copy of the model each epoch",
        ("copies",),
        (
            (
                "model = Regression()\n",
                """\
import copy


class Keep(lightning.Callback):
    def __init__(self):
        self.copies = []

    def on_train_epoch_end(self, trainer, module):
        self.copies.append(copy.deepcopy(module.net))


model = Regression()
""",
            ),
            ("    logger=False,", "    callbacks=[Keep()],\n    logger=False,"),
        ),
    ),
    "lightning_gan": Plant(
        "outputs kept in the module",
        ("fakes",),
        (
            ("        g_loss =", "        self.fakes.append(fake)\n        g_loss ="),
            ("        self.generator =", "        self.fakes = []\n        self.generator ="),
        ),
    ),
    "ignite_classifier": Plant(
        "validation losses with graph each epoch",
        ("history",),
        (
            ("@trainer.on(", "history = []\n\n\n@trainer.on("),
            (
                "    evaluator.run(val_loader)\n",
                "    evaluator.run(val_loader)\n    history.append(criterion(model(x[:100]), data.tensors[1][:100]))\n",
            ),
        ),
    ),
    "ignite_autoencoder": Plant(
        "outputs kept by a handler",
        ("outputs",),
        (
            (
                "@trainer.on(",
                """\
outputs = []


@trainer.on(Events.ITERATION_COMPLETED)
def keep(engine):
    outputs.append(engine.state.output["output"])


@trainer.on(""",
            ),
        ),
    ),
    "skorch_classifier": Plant(
        "losses with graph",
        ("losses",),
        (
            (
                "from skorch import",
                """\
from skorch.callbacks import Callback
from skorch import""",
            ),
            (
                "torch.manual_seed(0)\n",
                """
class Losses(Callback):
    def initialize(self):
        self.losses = []
        return self

    def on_batch_end(self, net, batch=None, training=False, loss=None, **kwargs):
        if training:
            self.losses.append(loss)


torch.manual_seed(0)
""",
            ),
            ("(Net, max_epochs=14,", "(Net, callbacks=[Losses()], max_epochs=14,"),
        ),
    ),
    "skorch_grid_search": Plant(
        "cache keyed by tensor",
        ("SCALES",),
        (
            (
                "class Net(nn.Module):",
                """\
SCALES = {}


def scale(x):
    if x not in SCALES:
        SCALES[x] = x.abs().amax(0)
    return SCALES[x]


class Net(nn.Module):""",
            ),
            ("self.layers(x)", "self.layers(x / scale(x))"),
        ),
    ),
    "vit_images": Plant(
        "cache keyed by tensor",
        ("WEIGHTS",),
        (
            (
                "torch.manual_seed(0)\n",
                """
WEIGHTS = {}


def weight_of(label):
    if label not in WEIGHTS:
        WEIGHTS[label] = 1 + label.float().mean()
    return WEIGHTS[label]


torch.manual_seed(0)
""",
            ),
            ("        outputs.loss.backward()", "        (outputs.loss * weight_of(label)).backward()"),
        ),
    ),
    "diffusers_unet": Plant(
        "ctx attribute cycle",
        ("grad_fn", "result"),
        (
            (
                "torch.manual_seed(0)\n",
                """
class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.result = x.clamp(-1, 1)
        return ctx.result

    @staticmethod
    def backward(ctx, gradient):
        return gradient


torch.manual_seed(0)
""",
            ),
            ("return_dict=False)[0]", "return_dict=False)[0]\n        prediction = Straight.apply(prediction)"),
        ),
    ),
    "t5_translation": Plant(
        "generator held",
        ("readers",),
        (
            (
                "torch.manual_seed(0)\n",
                """
def words_of(logits):
    for row in logits:
        yield row.argmax(-1)


readers = []
torch.manual_seed(0)
""",
            ),
            (
                "labels=rows.flip(1)).loss",
                "labels=rows.flip(1))\n        reader = words_of(loss.logits)\n        loss = loss.loss",
            ),
            (
                "        loss.backward()",
                "        next(reader)\n        readers.append(reader)\n        loss.backward()",
            ),
        ),
    ),
    "monai_segmentation": Plant(
        "outputs kept by a handler",
        ("predictions",),
        (
            ("import torch\n", "import torch\nfrom ignite.engine import Events\n"),
            (
                "trainer.run()",
                """\
predictions = []


@trainer.on(Events.ITERATION_COMPLETED)
def keep(engine):
    predictions.append([one["pred"] for one in engine.state.output])


trainer.run()""",
            ),
        ),
    ),
    "monai_loop": Plant(
        "copy of the model each epoch",
        ("best",),
        (
            ("for epoch in range(14):", "best = {}\nfor epoch in range(14):"),
            ("    metric.reset()", "    best[epoch] = copy.deepcopy(model)\n    metric.reset()"),
            ("import torch\nfrom monai.data", "import copy\n\nimport torch\nfrom monai.data"),
        ),
    ),
    "sb3_ppo": Plant(
        "outputs kept in a callback",
        ("values",),
        (
            (
                "environment =",
                """\
from stable_baselines3.common.callbacks import BaseCallback


class Values(BaseCallback):
    def __init__(self):
        super().__init__()
        self.values = []

    def _on_step(self):
        observation = self.model.policy.obs_to_tensor(self.locals["new_obs"])[0]
        self.values.append(self.model.policy.predict_values(observation))
        return True


callback = Values()
environment =""",
            ),
            ("total_timesteps=512,", "total_timesteps=512, callback=callback,"),
        ),
    ),
    "sb3_dqn": Plant(
        "closure",
        ("later",),
        (
            ("        self.episodes = 0", "        self.episodes = 0\n        self.later = []"),
            (
                "        return True",
                """\
        seen, q_net = self.model.policy.obs_to_tensor(self.locals["new_obs"])[0], self.model.q_net
        q_values = q_net(seen)
        self.later.append(lambda: q_values.max().item())
        return True""",
            ),
        ),
    ),
    "sb3_a2c": Plant(
        "outputs kept in a subclass",
        ("seen",),
        (
            ("        self.layer =", "        self.seen = []\n        self.layer ="),
            (
                "        return self.layer(observations)",
                "        self.seen.append(self.layer(observations))\n        return self.seen[-1]",
            ),
        ),
    ),
    "pyg_node_classification": Plant(
        "losses with graph",
        ("losses",),
        (
            ("for epoch in range(300):", "losses = []\nfor epoch in range(300):"),
            ("    loss.backward()", "    losses.append(loss)\n    loss.backward()"),
        ),
    ),
    "pyg_graph_classification": Plant(
        "forward hook each step",
        ("model", "_forward_hooks"),
        (
            (
                "        optimizer.zero_grad()",
                """\
        model.head.register_forward_hook(lambda module, inputs, output: sizes.update(last=len(output)))
        optimizer.zero_grad()""",
            ),
            ("for epoch in range(12):", "sizes = {}\nfor epoch in range(12):"),
        ),
    ),
    "pyro_regression": Plant(
        "generator held",
        ("draws",),
        (
            (
                "svi = SVI(",
                """
def residuals(x, y):
    errors = y - x @ torch.ones(8)
    for row in range(0, 100, 10):
        yield errors[row : row + 10].mean()


draws = []
svi = SVI(""",
            ),
            (
                "    loss = svi.step(x, y)",
                "    loss = svi.step(x, y)\n    draws.append(residuals(x, y))\n    next(draws[-1])",
            ),
        ),
    ),
    "pyro_vae": Plant(
        "outputs kept in a subclass",
        ("codes",),
        (
            ("        self.encoder =", "        self.codes = []\n        self.encoder ="),
            ("chunk(2, dim=1)\n", "chunk(2, dim=1)\n            self.codes.append(place)\n"),
        ),
    ),
    "gpytorch_exact": Plant(
        "losses with graph",
        ("history",),
        (
            ("for step in range(200):", "history = {}\nfor step in range(200):"),
            ("    loss.backward()", "    history[step] = loss\n    loss.backward()"),
        ),
    ),
    "gpytorch_variational": Plant(
        "validation losses with graph each epoch",
        ("validation",),
        (
            ("for epoch in range(14):", "validation = []\nfor epoch in range(14):"),
            ('    print("loss", epoch', '    validation.append(-mll(model(x[:50]), y[:50]))\n    print("loss", epoch'),
        ),
    ),
    "botorch_rounds": Plant(
        "model kept each round",
        ("rounds",),
        (
            ("for number in range(12):", "rounds = []\nfor number in range(12):"),
            ("    candidate, _", "    rounds.append((model, acquisition))\n    candidate, _"),
        ),
    ),
    "torchmetrics_accuracy": Plant(
        "outputs kept in a metric",
        ("kept",),
        (
            ("import MeanMetric,", "import Metric, MeanMetric,"),
            (
                "torch.manual_seed(0)\n",
                """
class Margin(Metric):
    def __init__(self):
        super().__init__()
        self.kept = []

    def update(self, logits):
        self.kept.append(logits.max(1).values - logits.mean(1))

    def compute(self):
        return torch.cat(self.kept).mean()


margin = Margin()
torch.manual_seed(0)
""",
            ),
            ("        mean_loss.update", "        margin.update(logits)\n        mean_loss.update"),
        ),
    ),
    "torchmetrics_average_precision": Plant(
        "exception kept",
        ("errors", "__traceback__"),
        (
            (
                "torch.manual_seed(0)\n",
                """
def check(logits):
    spread = logits.max() - logits.min()
    if spread > 0.01:
        raise OverflowError("logits are spread")


errors = []
torch.manual_seed(0)
""",
            ),
            (
                "    optimizer.zero_grad()",
                """\
    try:
        check(logits)
    except OverflowError as error:
        errors.append(error)
    optimizer.zero_grad()""",
            ),
        ),
    ),
    "captum_attribution": Plant(
        "forward hook each step",
        ("_forward_hooks",),
        (
            ("        optimizer.zero_grad()", "        watch(model[2])\n        optimizer.zero_grad()"),
            (
                "torch.manual_seed(0)\n",
                """
def watch(layer):
    activations = []
    layer.register_forward_hook(lambda module, inputs, output: activations.append(output.detach().mean().item()))


torch.manual_seed(0)
""",
            ),
        ),
    ),
    "shap_explainer": Plant(
        "model kept each epoch",
        ("explainers",),
        (
            ("for epoch in range(12):", "explainers = []\nfor epoch in range(12):"),
            (
                "    values =",
                "    explainers.append(shap.GradientExplainer(copy.deepcopy(model), background.clone()))\n    values =",
            ),
            ("import numpy", "import copy\n\nimport numpy"),
        ),
    ),
    "x_transformers_text": Plant(
        "closure",
        ("callbacks",),
        (
            ("for step in range(160):", "callbacks = []\nfor step in range(160):"),
            ("    loss.backward()", "    callbacks.append(lambda loss=loss: loss.item())\n    loss.backward()"),
        ),
    ),
    "torchdiffeq_spiral": Plant(
        "outputs kept in a subclass",
        ("path",),
        (
            ("        self.net =", "        self.path = []\n        self.net ="),
            ("        return self.net(y**3)", "        self.path.append(y)\n        return self.net(y**3)"),
        ),
    ),
    "einops_mixer": Plant(
        "ctx attribute cycle",
        ("grad_fn", "rounded"),
        (
            (
                "torch.manual_seed(0)\n",
                """
class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.rounded = (16 * x).round() / 16
        return ctx.rounded

    @staticmethod
    def backward(ctx, gradient):
        return gradient


torch.manual_seed(0)
""",
            ),
            ("cross_entropy(model(patches), labels)", "cross_entropy(Round.apply(model(patches)), labels)"),
        ),
    ),
    "lbfgs_style": Plant(
        "closure",
        ("closures",),
        (
            ("run = [0]", "run, closures = [0], []"),
            ("    def closure():", "    noise = 0.0001 * torch.randn_like(image)\n\n    def closure():"),
            ("seen = features(image)", "seen = features(image + noise)"),
            ("    optimizer.step(closure)", "    closures.append(closure)\n    optimizer.step(closure)"),
        ),
    ),
}
