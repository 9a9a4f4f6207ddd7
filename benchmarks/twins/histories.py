"""Histories, meters, logs and records: numbers kept, and what should have been a number."""

from __future__ import annotations

from benchmarks.twins.pair import Pair

PAIRS = (
    Pair(
        "losses",
        "losses",
        """\
losses = []
for step in range(STEPS):
    loss = train(batch())
    losses.append(loss)
""",
        (("append(loss)", "append(loss.item())"),),
        "each loss keeps its graph",
        "a number for each step",
        logs=True,
    ),
    Pair(
        "running_loss",
        "running",
        """\
running = 0.0
for step in range(STEPS):
    loss = train(batch())
    running += loss
""",
        (("running += loss", "running += loss.item()"),),
        "the sum has a graph that reaches back to the first loss",
        "a sum of numbers",
    ),
    Pair(
        "average_meter",
        "sum|meter",
        """\
class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0, 0

    def update(self, value, n=1):
        self.sum = self.sum + value * n
        self.count += n


meter = AverageMeter()
for step in range(STEPS):
    x = batch()
    meter.update(train(x), len(x))
""",
        (("train(x), len(x)", "train(x).detach(), len(x)"),),
        "the sum has the graph of every loss",
        "the loss is detached",
    ),
    Pair(
        "smoothed_loss",
        "smooth",
        """\
smooth = torch.zeros(())
for step in range(STEPS):
    loss = train(batch())
    smooth = 0.9 * smooth + 0.1 * loss
""",
        (("0.1 * loss", "0.1 * loss.detach()"),),
        "the moving average has the graph of every loss",
        "the loss is detached",
    ),
    Pair(
        "meter_with_a_window",
        "window",
        """\
class Meter:
    def __init__(self):
        self.window = deque()

    def update(self, errors):
        self.window.append(errors)

    def mean(self):
        return torch.stack(list(self.window)).mean()


meter = Meter()
for step in range(STEPS):
    x = batch()
    train(x)
    with torch.no_grad():
        meter.update((net(x) - 1).abs().repeat(1, 8))
    meter.mean()
""",
        (("deque()", "deque(maxlen=10)"),),
        "the window has no end",
        "the window has ten places",
    ),
    Pair(
        "history_of_keras",
        "history",
        """\
class History:
    def __init__(self):
        self.history = defaultdict(list)

    def record(self, **values):
        for name, value in values.items():
            self.history[name].append(value)


history = History()
for step in range(STEPS):
    x = batch()
    loss = train(x)
    history.record(loss=loss.item(), output=net(x))
""",
        (("output=net(x)", "output=net(x).mean().item()"),),
        "the outputs are kept with their graphs",
        "two numbers for each step",
        logs=True,
    ),
    Pair(
        "outputs_of_an_epoch",
        "outputs",
        """\
class Module:
    def __init__(self):
        self.outputs = []

    def step(self, x):
        train(x)
        with torch.no_grad():
            self.outputs.append(net[0](x))

    def end_of_epoch(self):
        self.accuracy = torch.cat(self.outputs).mean().item()


module = Module()
for step in range(STEPS):
    module.step(batch())
    if step % 5 == 4:
        module.end_of_epoch()
""",
        (("mean().item()\n", "mean().item()\n        self.outputs.clear()\n"),),
        "the end of an epoch reads the outputs and keeps them",
        "the list is cleared at the end of each epoch",
        steps=(40, 400),
    ),
    Pair(
        "predictions_extended",
        "predictions",
        """\
predictions = torch.zeros(0, 64)
for step in range(STEPS):
    x = batch()
    train(x)
    with torch.no_grad():
        predictions = torch.cat([predictions, net[0](x)])
    if step % 6 == 5:
        score = predictions.mean().item()
""",
        (("mean().item()\n", "mean().item()\n        predictions = torch.zeros(0, 64)\n"),),
        "the tensor is extended from itself for ever",
        "it begins anew every six steps",
        steps=(40, 400),
    ),
    Pair(
        "confusion_counts",
        "seen",
        """\
class Confusion:
    def __init__(self, classes):
        self.counts = torch.zeros(classes, classes, dtype=torch.long)
        self.seen = []

    def update(self, scores, labels):
        guesses = scores.argmax(1)
        self.counts.index_put_((guesses, labels), torch.ones_like(labels), accumulate=True)
        self.seen.append((scores, guesses, labels))


confusion = Confusion(64)
for step in range(STEPS):
    x = batch()
    train(x)
    confusion.update(x, torch.randint(64, (16,)))
""",
        (("self.seen.append((scores, guesses, labels))", "self.seen = [(scores, guesses, labels)]"),),
        "all scores are kept beside the counts",
        "the counts have a fixed size, and one batch is kept",
    ),
    Pair(
        "metric_never_reset",
        "values|metric",
        """\
class Curve:
    def __init__(self):
        self.values = []

    def update(self, scores):
        self.values.append(scores)

    def compute(self):
        return torch.cat(self.values).sort(0).values[-1].mean()

    def reset(self):
        self.values = []


metric = Curve()
for step in range(STEPS):
    x = batch()
    train(x)
    with torch.no_grad():
        metric.update(net[0](x))
    if step % 5 == 4:
        best = metric.compute()
""",
        (("metric.compute()\n", "metric.compute()\n        metric.reset()\n"),),
        "the metric is computed each epoch, and nothing resets it",
        "it is reset after each epoch",
        steps=(40, 400),
    ),
    Pair(
        "gradient_norms",
        "norms",
        """\
norms = deque()
for step in range(STEPS):
    train(batch())
    norms.append([parameter.grad.clone() for parameter in net.parameters()])
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
""",
        (("deque()", "deque(maxlen=<N/4>)"),),
        "the gradients of every step are kept",
        "those of the last quarter of the run",
    ),
    Pair(
        "clipping_by_percentile",
        "past",
        """\
class AutoClip:
    def __init__(self):
        self.past = []

    def __call__(self, parameters):
        flat = torch.cat([one.grad.flatten() for one in parameters])
        self.past.append(flat)
        limit = np.median([float(torch.as_tensor(one).norm()) for one in self.past[-20:]])
        torch.nn.utils.clip_grad_norm_(parameters, float(limit))


clip = AutoClip()
parameters = list(net.parameters())
for step in range(STEPS):
    train(batch())
    clip(parameters)
""",
        (("self.past.append(flat)", "self.past.append(flat.norm().item())"),),
        "all gradients are kept where their norms would do",
        "a norm for each step, as a log",
        logs=True,
    ),
    Pair(
        "log_records",
        "records",
        """\
import logging


class Keep(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)


keep = Keep()
log = logging.getLogger("training")
log.setLevel(logging.INFO)
log.propagate = False
log.addHandler(keep)
for step in range(STEPS):
    x = batch()
    train(x)
    log.info("step %d: %s", step, x)
""",
        (("self.records.append(record)", "self.records[:] = [record]"),),
        "a record keeps its arguments, here the batch",
        "the newest record is kept",
    ),
    Pair(
        "memory_handler",
        "buffer",
        """\
import logging
import logging.handlers

log = logging.getLogger("training")
log.setLevel(logging.INFO)
log.propagate = False
memory = logging.handlers.MemoryHandler(capacity=1_000_000_000, target=logging.NullHandler())
log.addHandler(memory)
for step in range(STEPS):
    x = batch()
    train(x)
    log.info("batch %s", x)
    memory.shouldFlush = lambda record: len(memory.buffer) >= 1_000_000_000
""",
        (("len(memory.buffer) >= 1_000_000_000", "len(memory.buffer) >= 6"),),
        "the buffer is written out only after a billion records, 4 TB",
        "it is written out after six",
    ),
    Pair(
        "handlers_added",
        "handlers",
        """\
import io
import logging


def logger():
    log = logging.getLogger("experiment")
    log.propagate = False
    if log.name:
        handler = logging.StreamHandler(io.StringIO())
        handler.setFormatter(logging.Formatter(f"{len(log.handlers)} %(message)s " + "-" * 4000))
        log.addHandler(handler)
    return log


for step in range(STEPS):
    train(batch())
    logger().debug("step")
""",
        (("if log.name:", "if not log.handlers:"),),
        "each call adds a handler to the same logger",
        "a handler is added once",
    ),
    Pair(
        "text_of_a_log",
        "log",
        """\
import io

log = io.StringIO()
for step in range(STEPS):
    x = batch()
    train(x)
    log.write(" ".join(f"{value:.4f}" for value in x.flatten().tolist()))
    if step % 4 == 3:
        text = log.getvalue()
""",
        (("text = log.getvalue()\n", "text = log.getvalue()\n        log.seek(0)\n        log.truncate()\n"),),
        "about 8 kB of text a step in a buffer that is read and not emptied",
        "the buffer is emptied after it was read",
        steps=(40, 400),
    ),
    Pair(
        "checkpoints_in_one_stream",
        "stream",
        """\
import io

stream = io.BytesIO()
for step in range(STEPS):
    train(batch())
    torch.save(net.state_dict(), stream)
    size = stream.tell()
""",
        (("    torch.save", "    stream.seek(0)\n    stream.truncate()\n    torch.save"),),
        "each checkpoint is written behind the one before",
        "the stream is emptied first",
    ),
    Pair(
        "rows_of_a_table",
        "rows",
        """\
rows = []
for step in range(STEPS):
    x = batch()
    loss = train(x)
    rows.extend(f"{step},{i}," + ",".join(f"{v:.3f}" for v in row.tolist()) for i, row in enumerate(x))
    if len(rows) > 64:
        text = "\\n".join(rows)
""",
        (("join(rows)\n", "join(rows)\n        rows.clear()\n"),),
        "rows are joined for the file and kept: 8 kB of strings a step",
        "they are cleared once written",
    ),
    Pair(
        "labels_of_metrics",
        "children",
        """\
class Histogram:
    def __init__(self):
        self.buckets = [0.0] * 64
        self.total = 0.0

    def observe(self, value):
        self.total += value
        self.buckets[min(int(value * 64), 63)] += 1.5


class Metric:
    def __init__(self):
        self.children = {}

    def labels(self, **labels):
        key = tuple(sorted(labels.items()))
        return self.children.setdefault(key, Histogram())


latency = Metric()
number = 0
for step in range(STEPS):
    train(batch())
    for _ in range(8):
        number += 1
        latency.labels(route="/score", request=f"request-{number}").observe(random.random())
""",
        (('request=f"request-{number}"', 'status=f"20{number % 3}"'),),
        "the number of the request is a label, so each has a histogram of its own: 7 kB a step",
        "there are three statuses",
    ),
    Pair(
        "events_of_a_writer",
        "events",
        """\
class Writer:
    def __init__(self):
        self.events = []

    def add(self, tag, value, step):
        self.events.append((tag, value, step))

    def flush(self):
        for tag, value, step in self.events[-4:]:
            value.mean()


writer = Writer()
for step in range(STEPS):
    x = batch()
    train(x)
    writer.add("input", x, step)
    if step % 4 == 3:
        writer.flush()
""",
        (("            value.mean()\n", "            value.mean()\n        del self.events[:]\n"),),
        "flush writes the newest events and keeps them all",
        "what was written is deleted",
        steps=(40, 400),
    ),
    Pair(
        "durations_by_name",
        "durations",
        """\
import time

durations = {}
for step in range(STEPS):
    for part in ("forward", "backward", f"step {step}"):
        started = time.perf_counter()
        x = batch()
        if part == "forward":
            train(x)
        durations.setdefault(part, deque([0.0] * 500, maxlen=500)).append(time.perf_counter() - started)
""",
        (('f"step {step}"', '"step"'),),
        "the name has the number of the step, so each step has a window of its own",
        "three names with a window each",
    ),
    Pair(
        "warnings_recorded",
        "caught",
        """\
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for step in range(STEPS):
        x = batch()
        train(x)
        warnings.warn("values out of range: " + str(x.tolist()))
        if len(caught) > 5:
            first = caught[0]
""",
        (("first = caught[0]", "caught.clear()"),),
        "each step adds a long warning to the list of those caught",
        "the list is cleared when it has more than five",
    ),
    Pair(
        "errors_kept",
        "errors",
        """\
def parse(x):
    values = x * 2
    raise ValueError(f"bad value {values[0, 0]:.3f}")


errors = []
for step in range(STEPS):
    x = batch()
    train(x)
    try:
        parse(x)
    except ValueError as error:
        errors.append(error)
""",
        (("errors.append(error)", "errors.append(str(error))"),),
        "the traceback of an exception keeps the frame with its tensors",
        "a short text for each step, as a log",
        logs=True,
    ),
    Pair(
        "errors_that_chain",
        "last",
        """\
class Failed(Exception):
    pass


def attempt(x, last):
    data = x.numpy().tobytes()
    try:
        raise Failed(data) from last
    except Failed as error:
        return error.with_traceback(None)


last = None
for step in range(STEPS):
    x = batch()
    train(x)
    last = attempt(x, last)
""",
        (("from last", "from None"),),
        "each error has the one before as its cause",
        "the cause is cut off",
    ),
    Pair(
        "histories_in_one_string",
        "text",
        """\
text = ""
for step in range(STEPS):
    x = batch()
    train(x)
    text = text + "".join(f"{value:7.3f}" for value in x.flatten().tolist())
""",
        (("for value in x.flatten().tolist())", "for value in x.flatten().tolist())\n    text = text[-20_000:]"),),
        "a string that each step makes 7 kB longer",
        "it is cut to its newest 20,000 characters",
        steps=(40, 400),
    ),
    Pair(
        "rows_in_a_data_base",
        "",
        """\
import sqlite3

base = sqlite3.connect(":memory:")
base.execute("create table runs (step integer, data blob)")
for step in range(STEPS):
    x = batch()
    train(x)
    base.execute("insert into runs values (?, ?)", (step, x.numpy().tobytes() * 2))
    base.execute("delete from runs where step < ?", (0,))
    base.commit()
""",
        (("(0,)", "(step - 5,)"),),
        "the table in memory gets a row of 8 kB in each step, and none is old enough to be deleted",
        "six rows are kept",
    ),
    Pair(
        "replaced_best",
        "best",
        """\
import copy

best = []
for step in range(STEPS):
    loss = train(batch())
    if step % 2 == 0:
        best.append(copy.deepcopy(net.state_dict()))
""",
        (("best.append(copy.deepcopy(net.state_dict()))", "best = [copy.deepcopy(net.state_dict())]"),),
        "every second step adds a state",
        "the list is replaced",
        steps=(40, 400),
    ),
    Pair(
        "reports_of_stages",
        "stages",
        """\
from dataclasses import dataclass, field


@dataclass
class Stage:
    name: str
    outputs: list = field(default_factory=list)


@dataclass
class Report:
    stages: list = field(default_factory=list)


report = Report()
for step in range(STEPS):
    x = batch()
    train(x)
    if step % 4 == 0:
        report.stages.append(Stage(f"stage {step // 4}"))
    report.stages[-1].outputs.append(x)
""",
        (("        report.stages.append(", "        report.stages.clear()\n        report.stages.append("),),
        "each step adds a batch to the newest stage, and all stages are kept",
        "the stages before are dropped",
        steps=(40, 400),
    ),
)
