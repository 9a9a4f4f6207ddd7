"""Programs for the table of expectations: what a row expects, and look-alikes that leak.

A program is a function that makes a step; ``number`` counts the calls of the step.
"""

from __future__ import annotations

import functools
import linecache
import logging
import queue
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy
import torch

Step = Callable[[int], object]
Program = Callable[[], Step]

#: The row that expects the growth of a program; empty for a leak.
PROGRAMS: dict[str, tuple[Program, str]] = {}

BOUNDED, METRIC, EMPTIED = "bounded container", "state of a metric", "emptied now and then"


def program(row: str = "") -> Callable[[Program], Program]:
    def note(make: Program) -> Program:
        PROGRAMS[make.__name__] = make, row
        return make

    return note


def weight() -> Any:
    return torch.ones(8, requires_grad=True)


# --- declared bounds -----------------------------------------------------------------------------------------------------


@program(BOUNDED)
def deque_not_full() -> Step:
    memory: deque[Any] = deque(maxlen=1000)
    return lambda number: memory.append((torch.ones(8), number))


@program(BOUNDED)
def deque_full_at_the_end() -> Step:
    """It was a leak: it had no more room when it was judged."""
    memory: deque[Any] = deque(maxlen=50)
    return lambda number: memory.append((torch.ones(8), number))


@program()
def deque_that_memory_cannot_hold() -> Step:
    memory: deque[Any] = deque(maxlen=1_000_000)
    return lambda number: memory.append(torch.ones(1 << 18))


@program()
def limit_that_memory_cannot_hold() -> Step:
    """It was expected, though a deque with the same bound was a leak."""
    history: list[Any] = []

    def step(number: int) -> None:
        if len(history) < 1_000_000:
            history.append(torch.ones(1 << 18))

    return step


@program()
def deque_of_graphs() -> Step:
    memory: deque[Any] = deque(maxlen=1000)
    leaf = weight()
    return lambda number: memory.append(leaf * 2)


@program()
def more_and_more_deques() -> Step:
    memory: defaultdict[int, deque[Any]] = defaultdict(lambda: deque(maxlen=4))
    return lambda number: memory[number // 2].append(torch.ones(8))


@program(BOUNDED)
def deques_that_fill_in_turns() -> Step:
    """They were a leak: a list with a bounded deque for each class."""
    exemplars: list[deque[Any]] = [deque(maxlen=20) for _ in range(6)]
    return lambda number: exemplars[number // 10].append(torch.ones(8))


@program()
def lists_that_fill_in_turns() -> Step:
    exemplars: list[list[Any]] = [[] for _ in range(6)]
    return lambda number: exemplars[number // 10].append(torch.ones(8))


@program()
def lists_in_a_bounded_deque() -> Step:
    memory: deque[list[Any]] = deque([[], []], maxlen=10)
    return lambda number: memory[1].append(torch.ones(8))


@program(BOUNDED)
def cache_not_full() -> Step:
    @functools.lru_cache(maxsize=1000)
    def encode(number: int) -> Any:
        return torch.ones(8)

    return lambda number: encode(number)


@program()
def cache_without_a_size() -> Step:
    @functools.cache
    def encode(number: int) -> Any:
        return torch.ones(8)

    return lambda number: encode(number)


@program(BOUNDED)
def queue_not_full() -> Step:
    """It was a leak, although its size is declared."""
    waiting: queue.Queue[Any] = queue.Queue(maxsize=1000)
    return lambda number: waiting.put(torch.ones(8))


@program()
def queue_without_a_size() -> Step:
    waiting: queue.Queue[Any] = queue.Queue()
    return lambda number: waiting.put(torch.ones(8))


class Replay:
    """A buffer of a fixed size, which is not full yet."""

    def __init__(self, size: int) -> None:
        self.items: list[Any] = []
        self.size, self.next = size, 0

    def push(self, item: Any) -> None:
        if len(self.items) < self.size:
            self.items.append(item)
        else:
            self.items[self.next] = item
        self.next = (self.next + 1) % self.size


@program(BOUNDED)
def limit_in_the_source() -> Step:
    replay = Replay(1000)
    return lambda number: replay.push(torch.ones(8))


@program()
def limit_in_the_source_with_graphs() -> Step:
    replay, leaf = Replay(1000), weight()
    return lambda number: replay.push(leaf * 2)


@program(BOUNDED)
def list_of_a_fixed_size() -> Step:
    ring: list[Any] = [None] * 1000

    def step(number: int) -> None:
        ring[number % len(ring)] = (torch.ones(8), number)

    return step


@program(BOUNDED)
def many_places_for_little() -> Step:
    """It was a leak: the list's own 8 MB were counted as its first items."""
    ring: list[Any] = [None] * 1_000_000

    def step(number: int) -> None:
        ring[number % len(ring)] = torch.ones(8)

    return step


class Exemplars:
    """The two newest of each of five classes; six hundred for each, so that they are not full."""

    def __init__(self) -> None:
        self.by_class: dict[int, list[Any]] = {number: [torch.ones(8)] for number in range(5)}
        self.others: dict[int, list[Any]] = {number: [] for number in range(5)}

    def keep(self, number: int) -> None:
        rows = self.by_class[number % 5]
        rows.append(torch.ones(8))
        del rows[:-600]

    def keep_and_copy(self, number: int) -> None:
        self.others[number % 5].append(torch.ones(8))
        recent = self.others[number % 5][-1000:]
        while len(recent) > 600:
            recent.pop(0)

    def keep_beside(self, number: int) -> None:
        self.others[number % 5].append(torch.ones(8))
        if len(self.by_class[number % 5]) > 600:
            del self.others[number % 5][0]


@program(BOUNDED)
def lists_in_a_dict_with_a_limit() -> Step:
    """They were a leak: a limit of what is inside a container was not looked for."""
    return Exemplars().keep


@program()
def lists_in_a_dict_beside_those_with_a_limit() -> Step:
    return Exemplars().keep_beside


@program()
def lists_in_a_dict_whose_copies_have_a_limit() -> Step:
    return Exemplars().keep_and_copy


@program(BOUNDED)
def array_of_a_fixed_size() -> Step:
    ring = numpy.full(1000, None)

    def step(number: int) -> None:
        ring[number % len(ring)] = (torch.ones(8), number)

    return step


@program()
def list_within_its_spare_room() -> Step:
    """A list of numbers has room for some more items: its bytes stay the same for a while."""
    items: list[Any] = list(range(10_000))
    items.append(None)
    return lambda number: items.append(torch.ones(8))


# --- optimizers ----------------------------------------------------------------------------------------------------------


def fine_tuning(is_new: bool) -> Step:
    """An optimizer gets another layer every third step: one of the frozen ones, or a new one."""
    layers = [torch.nn.Linear(8, 8) for _ in range(60)]
    trained: list[Any] = [layers.pop()]
    optimizer = torch.optim.Adam(trained[0].parameters())
    for layer in layers:
        optimizer.add_param_group({"params": list(layer.parameters())})

    def step(number: int) -> None:
        if number % 3 == 0 and is_new:
            trained.append(torch.nn.Linear(8, 8))
            optimizer.add_param_group({"params": list(trained[-1].parameters())})
        elif number % 3 == 0:
            trained.append(layers.pop())
        optimizer.zero_grad()
        x = torch.ones(2, 8)
        for layer in trained:
            x = layer(x)
        x.sum().backward()
        optimizer.step()

    return step


@program("optimizer state")
def optimizer_unfreezes_parameters() -> Step:
    return fine_tuning(is_new=False)


@program()
def optimizer_gets_new_parameters() -> Step:
    return fine_tuning(is_new=True)


# --- libraries, caches, expressions ---------------------------------------------------------------------------------------


class Keep(logging.Handler):
    """Keeps what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@program()
def logging_handler() -> Step:
    """All its records were called a table of the library."""
    log = logging.getLogger("gradlife.kept")
    log.handlers[:] = [Keep()]
    return lambda number: log.warning("sample %s", [[number] * 9 for _ in range(50)])


@program()
def dict_of_new_keys() -> Step:
    cache: dict[int, Any] = {}
    return lambda number: cache.setdefault(number, torch.ones(8))


# --- metrics and epochs ---------------------------------------------------------------------------------------------------


class Auc:
    """Keeps all scores; `reset` clears them."""

    def __init__(self) -> None:
        self.scores: list[Any] = []

    def update(self, score: Any) -> None:
        self.scores.append(score)

    def compute(self) -> Any:
        return torch.stack(self.scores).mean()

    def reset(self) -> None:
        self.scores.clear()


@program(METRIC)
def metric() -> Step:
    auc = Auc()
    return lambda number: auc.update(torch.ones(8))


@program()
def metric_of_graphs() -> Step:
    auc, leaf = Auc(), weight()
    return lambda number: auc.update(leaf * 2)


# --- graphs, gradients, tables of libraries -------------------------------------------------------------------------------


@program("gradient")
def first_gradients() -> Step:
    """Each step makes the gradient of one more parameter, as late unfreezing does."""
    parameters = [torch.nn.Parameter(torch.ones(8)) for _ in range(60)]

    def step(number: int) -> None:
        parameters[number].grad = torch.ones(8)

    return step


@program()
def gradients_of_new_tensors() -> Step:
    parameters: list[Any] = []

    def step(number: int) -> None:
        parameters.append(torch.nn.Parameter(torch.ones(8)))
        parameters[-1].grad = torch.ones(8)

    return step


@program("table of a library")
def source_lines() -> Step:
    """The source of generated code, as `dataclasses` and `attrs` note it."""

    def step(number: int) -> None:
        lines = [f"x = {number + line}" for line in range(200)]
        linecache.cache[f"<made {number}>"] = (len(lines), None, lines, f"<made {number}>")

    return step


# --- programs that are hunted whole ---------------------------------------------------------------------------------------

#: The source of a program, and the row that expects its growth; empty for a leak, CLEAN if nothing is said.
SCRIPTS: dict[str, tuple[str, str]] = {}
CLEAN = "clean"

TRAINING = """\
import random, sys
import torch

model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def loss_of(x):
    return model(x).square().mean()

def train(loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def script(name: str, source: str, row: str = "") -> None:
    SCRIPTS[name] = TRAINING + source, row


script(
    "comprehension",
    """
def answer(x):
    train(loss_of(x))
    return model(x).detach()

answers = [answer(torch.ones(2, 64)) for _ in range(110)]
""",
    "value of an expression",
)
script(
    "comprehension_of_graphs",
    """
def answer(x):
    train(loss_of(x))
    return model(x)

answers = [answer(torch.ones(2, 64)) for _ in range(110)]
""",
)
for name, row, me in (("garbage_frozen_now_and_then", "", "self"), ("nothing_waits_when_it_is_frozen", CLEAN, "None")):
    script(
        name,
        f"""
import gc

class Node:
    def __init__(self):
        self.me, self.x = {me}, torch.ones(1000)

for step in range(300):
    if step % 2:
        Node()
    if step % 50 == 49:
        gc.freeze()
    train(loss_of(torch.ones(2, 64)))
""",
        row,
    )
for name, row, joined in (
    ("keys_in_twelve_steps", "", "torch.cat([keys, x])"),
    ("longer_inputs_in_twelve_steps", CLEAN, "torch.cat([x] * (step + 1))"),
):
    script(
        name,
        f"""
keys = torch.zeros(0, 64)
for step in range(12):
    x = torch.randn(16, 64)
    keys = {joined}
    train(loss_of(x))
""",
        row,
    )
#: Codes of what these scripts leak.
CODES = {
    "garbage_frozen_now_and_then": "GL529",
    "region_of_autocast_left_open": "GL809",
    "shared_memory_never_unlinked": "GL901",
}
for name, row, unlink in (
    ("shared_memory_never_unlinked", "", ""),
    ("shared_memory_unlinked", CLEAN, "; block.unlink()"),
):
    script(
        name,
        f"""
from multiprocessing.shared_memory import SharedMemory

for step in range(110):
    block = SharedMemory(create=True, size=8192)
    block.close(){unlink}
    train(loss_of(torch.ones(2, 64)))
""",
        row,
    )

script(
    "region_of_autocast_left_open",
    """
with torch.autocast("cpu", dtype=torch.bfloat16):
    for step in range(400):
        other = torch.nn.Linear(64, 64)
        other(torch.ones(2, 64))
        train(loss_of(torch.ones(2, 64)))
""",
)
script(
    "region_of_autocast_for_each_model",
    """
for step in range(110):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        other = torch.nn.Linear(64, 64)
        other(torch.ones(2, 64))
    train(loss_of(torch.ones(2, 64)))
""",
    CLEAN,
)
script(
    "state_of_a_module",
    """
class Memory(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(64, 64)
        self.hidden = torch.zeros(16, 64)

    def forward(self, x):
        self.hidden = self.cell(x, self.hidden.detach())
        return self.hidden

memory = Memory()
for step in range(110):
    train(loss_of(memory(torch.randn(16, 64)).detach()))
""",
    "state of the next step",
)
script(
    "attribute_of_a_hook",
    """
def keep(module, inputs, output):
    module.seen = output.sin()

cell = torch.nn.GRUCell(64, 64)
cell.register_forward_hook(keep)
for step in range(110):
    train(loss_of(cell(torch.randn(16, 64)).detach()))
""",
)
script(
    "longer_batch",
    """
for step in range(110):
    batch = torch.randn(64 + step, 64)
    train(loss_of(batch))
""",
    "larger in each step",
)
script(
    "longer_bank",
    """
bank = torch.zeros(1, 64)
for step in range(110):
    batch = torch.randn(4, 64)
    train(loss_of(batch))
    bank = torch.cat([bank, batch])
""",
)
script(
    "loss_released_every_few_steps",
    """
class State: pass
state = State()
state.losses = []
for step in range(200):
    loss = loss_of(torch.randn(256, 64))
    train(loss_of(torch.randn(8, 64)))
    state.losses.append(loss)
    if len(state.losses) == 6:
        sum(state.losses).backward()
        state.losses.clear()
""",
    "kept for some steps",
)
script(
    "losses_never_released",
    """
class State: pass
state = State()
state.losses = []
for step in range(200):
    loss = loss_of(torch.randn(256, 64))
    train(loss_of(torch.randn(8, 64)))
    state.losses.append(loss)
""",
)
script(
    "dict_of_repeating_keys",
    """
cache = {}
for step in range(300):
    train(loss_of(torch.randn(8, 64)))
    cache.setdefault(random.Random(step).randrange(120), torch.ones(8))
""",
    "cache that fills",
)
script(
    "metric_never_reset",
    """
class Auc:
    def __init__(self):
        self.scores = []
    def update(self, score):
        self.scores.append(score)
    def compute(self):
        return torch.stack(self.scores).mean()
    def reset(self):
        self.scores = []

auc = Auc()
for epoch in range(6):
    for _ in range(30):
        train(loss_of(torch.randn(8, 64)))
        auc.update(torch.ones(64))
    print(float(auc.compute()))
""",
)
script(
    "list_cleared_each_epoch",
    """
outputs = []
for epoch in range(3):
    for _ in range(350):
        train(loss_of(torch.randn(8, 64)))
        outputs.append(torch.ones(64))
    outputs.clear()
""",
    EMPTIED,
)
script(
    "list_cleared_at_the_end",
    """
outputs = []
for epoch in range(3):
    for _ in range(350):
        train(loss_of(torch.randn(8, 64)))
        outputs.append(torch.ones(64))
outputs.clear()
""",
)
AFTER_TRAINING = """
for _ in range(60):
    train(loss_of(torch.randn(8, 64)))
outputs = []
"""
script(
    "outputs_of_evaluation",
    AFTER_TRAINING
    + """
with torch.no_grad():
    for _ in range(400):
        outputs.append(model(torch.randn(8, 64)))
print(torch.cat(outputs).mean())
""",
    "results of an evaluation",
)
script(
    "outputs_of_requests",
    AFTER_TRAINING
    + """
def handle(x):
    with torch.no_grad():
        outputs.append(model(x))

for _ in range(400):
    handle(torch.randn(32, 64))
""",
)
script(
    "forward_wrapped_anew",
    """
def wrap(model):
    batch = torch.ones(64, 64)
    plain = type(model).forward.__get__(model)
    model.forward = lambda x: plain(x) if batch is not None else x

for step in range(110):
    wrap(model)
    train(loss_of(torch.randn(8, 64)))
""",
    CLEAN,
)
script(
    "compiled_new_shape",
    """
import torch._dynamo
torch._dynamo.config.recompile_limit = 1000
scaled = torch.compile(lambda x: x * 2, backend="eager", dynamic=False)
for step in range(110):
    train(loss_of(torch.randn(8, 64)))
    scaled(torch.ones(step + 2))
""",
    "compile cache",
)
script(
    "compiled_new_function",
    """
kept = []
for step in range(110):
    train(loss_of(torch.randn(8, 64)))
    kept.append(torch.compile(lambda x: x * 2, backend="eager"))
    kept[-1](torch.ones(2))
""",
)

# --- tests, which run once ------------------------------------------------------------------------------------------------

#: A module of tests.
SUITE = """\
import collections, functools
import pytest
import torch

model = torch.nn.Linear(64, 64)
adam = torch.optim.Adam(model.parameters())
other = torch.nn.Linear(64, 64)
sgd = torch.optim.SGD(other.parameters(), lr=0.1, momentum=0.9)
recent, kept = collections.deque(maxlen=100), []
huge = collections.deque(maxlen=1_000_000)

@functools.lru_cache(maxsize=8)
def mask(size):
    return torch.ones(size)

def test_first_step():
    model(torch.ones(4, 64)).sum().backward()
    adam.step()

def test_first_step_with_momentum():
    other(torch.ones(4, 64)).sum().backward()
    sgd.step()

def test_new_parameters():
    kept.append(torch.nn.Linear(64, 64))
    adam.add_param_group({"params": list(kept[-1].parameters())})
    kept[-1](torch.ones(4, 64)).sum().backward()
    adam.step()

def test_bounded_deque():
    recent.append((torch.ones(64), 1))

def test_cache():
    mask(64)

def test_deque_that_memory_cannot_hold():
    huge.append(torch.ones(1 << 20))

def test_with_raises():
    x = torch.ones(64)
    with pytest.raises(ValueError) as error:
        raise ValueError("wrong")
    assert x is not None

def test_with_cycle():
    x = [torch.ones(1 << 14)]
    x.append(x)
"""

#: The row that expects what a test leaves; empty if it is a finding.
TESTS = {
    "test_first_step": "optimizer state",
    "test_first_step_with_momentum": "optimizer state",
    "test_new_parameters": "",
    "test_bounded_deque": BOUNDED,
    "test_cache": BOUNDED,
    "test_deque_that_memory_cannot_hold": "",
    "test_with_raises": "kept until the collector runs",
    "test_with_cycle": "",
}

#: The same in `tests/pytest_plugin/test_native_survivors.py`.
NATIVE_TESTS = {
    "test_native_code_keeps_a_tensor": "",
    "test_native_code_keeps_very_little": "too small to assign to a test",
}
