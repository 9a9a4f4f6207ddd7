"""Notebooks: histories of outputs, tracebacks, figures, widgets."""

from __future__ import annotations

from benchmarks.field.entry import PATTERN, Entry
from benchmarks.twins.pair import Pair

ENTRIES = (
    Entry(
        Pair(
            "output_history",
            "Out|user_ns|output_history",
            """\
class Shell:
    def __init__(self):
        self.user_ns = {"train": train, "batch": batch, "net": net}
        self.execution_count = 0
        self.user_ns["Out"] = self.output_history = {}

    def run_cell(self, source):
        self.execution_count += 1
        result = eval(compile(source, f"<cell {self.execution_count}>", "eval"), self.user_ns)
        if result is not None:
            self.output_history[self.execution_count] = result


shell = Shell()
for _ in range(STEPS):
    shell.run_cell("train(batch())")
    shell.run_cell("net(batch(64)).detach()")
""",
            (
                (
                    "            self.output_history[self.execution_count] = result\n",
                    "            print(result.shape)\n",
                ),
            ),
            "the shell keeps what each cell shows",
            "it shows it",
        ),
        "ipython/ipython#14129",
        "self.output_history[self.execution_count] =",
    ),
    Entry(
        Pair(
            "hidden_names_of_outputs",
            "user_ns_hidden|user_ns|namespace",
            """\
class Shell:
    def __init__(self, cache_size):
        self.cache_size = cache_size
        self.user_ns_hidden = {}
        self.count = 0

    def show(self, result):
        self.count += 1
        self.user_ns_hidden[f"_{self.count}"] = result
        self.user_ns_hidden["__"] = self.user_ns_hidden.get("_")
        self.user_ns_hidden["_"] = result
        if self.count > self.cache_size:
            del self.user_ns_hidden[f"_{self.count - self.cache_size}"]


shell = Shell(cache_size=1000)
for _ in range(STEPS):
    train(batch())
    shell.show(net(batch(32)).detach())
""",
            (("cache_size=1000", "cache_size=3"),),
            "a name is injected for each of a thousand outputs",
            "three outputs have names",
            steps=(40, 400),
        ),
        "ipython/ipython#10082",
        'self.user_ns_hidden[f"_{self.count}"] =',
    ),
    Entry(
        Pair(
            "figures_never_closed",
            "figs|Gcf",
            """\
class Gcf:
    figs = OrderedDict()

    @classmethod
    def destroy(cls, number):
        cls.figs.pop(number, None)


class Figure:
    def __init__(self, number):
        self.number = number
        self.canvas = np.zeros((64, 64, 4), dtype=np.uint8)


def figure():
    fig = Figure(max(Gcf.figs, default=0) + 1)
    Gcf.figs[fig.number] = fig
    return fig


def close(fig):
    Gcf.destroy(fig.number)


def log_images(x):
    fig = figure()
    fig.canvas[:16, :, 0] = x.numpy()
    return int(fig.canvas.sum())


for _ in range(STEPS):
    x = batch().abs()
    train(x)
    log_images(x)
""",
            (
                (
                    "    return int(fig.canvas.sum())\n",
                    "    total = int(fig.canvas.sum())\n    close(fig)\n    return total\n",
                ),
            ),
            "each figure stays in the registry until it is closed",
            "it is closed",
        ),
        "Clay-foundation/model#158",
        "Gcf.figs[fig.number] =",
        advice="close|destroy",
    ),
    Entry(
        Pair(
            "widget_for_each_epoch",
            "widgets|Widget",
            """\
import uuid


class Widget:
    widgets = {}

    def __init__(self):
        self.model_id = uuid.uuid4().hex
        self.state = {"value": 0, "image": bytes(10_000)}
        Widget.widgets[self.model_id] = self

    def close(self):
        Widget.widgets.pop(self.model_id, None)


for _ in range(STEPS):
    bar = Widget()
    train(batch())
    bar.state["value"] += 1
    done = bar.state["value"] == 1
""",
            (('    done = bar.state["value"] == 1\n', "    bar.close()\n"),),
            "the registry keeps each progress bar that was not closed",
            "the bar is closed",
        ),
        PATTERN,
        "Widget.widgets[self.model_id] =",
        advice="close|pop|weak",
    ),
    Entry(
        Pair(
            "tracebacks_of_failed_cells",
            "failures",
            """\
failures = []


def cell(number):
    activations = batch(64)
    if number % 2:
        raise ValueError(f"cell {number}: {float(activations.mean()):.1f}")
    return train(activations[:16])


for number in range(STEPS):
    try:
        cell(number)
    except ValueError as error:
        failures.append(error)
""",
            (("failures.append(error)", "failures.append(error.with_traceback(None))"),),
            "each exception keeps the frames of its traceback and their variables",
            "the tracebacks are taken from the exceptions",
            logs=True,
        ),
        "ipython/ipython#11572",
        "failures.append(",
    ),
)
