"""Plain Python: globals, classes, closures, chains and cycles; and growth that is slow, late, or ends."""

from __future__ import annotations

from benchmarks.twins.pair import Pair

PAIRS = (
    Pair(
        "cycle_through_a_closure",
        "Clip|frame_at",
        """\
class Clip:
    def __init__(self):
        self.frames = [torch.ones(64, 64) for _ in range(4)]
        self.frame_at = lambda t: self.frames[t]


for step in range(STEPS):
    clip = Clip()
    train(clip.frame_at(0)[:16])
""",
        (("self.frame_at = lambda t: self.frames[t]", "self.frame_at = self.frames.__getitem__"),),
        "a closure on self in an attribute of self: frames wait for the collector",
        "the attribute does not refer to its object",
        truth="needs-gc",
    ),
    Pair(
        "cycle_with_numpy",
        "Clip|frame_at",
        """\
class Clip:
    def __init__(self):
        self.frames = [np.ones((100, 100)) for _ in range(4)]
        self.frame_at = lambda t: self.frames[t]


for step in range(STEPS):
    clip = Clip()
    clip.frame_at(0)
    train(batch())
""",
        (("self.frame_at = lambda t: self.frames[t]", "self.frame_at = self.frames.__getitem__"),),
        "a closure on self in an attribute of self: arrays wait for the collector",
        "the attribute does not refer to its object",
        truth="needs-gc",
    ),
    Pair(
        "cycle_of_parent_and_child",
        "parent|children|Node",
        """\
import weakref


class Node:
    def __init__(self, parent=None):
        self.x = batch()
        self.children = []
        self.parent = parent
        if parent is not None:
            parent.children.append(self)


for step in range(STEPS):
    tree = Node()
    leaf = Node(tree)
    train(leaf.x + tree.x)
""",
        (("self.parent = parent\n", "self.parent = parent and weakref.ref(parent)\n"),),
        "parent and child refer to each other and wait for the collector",
        "the child refers weakly to its parent",
        truth="needs-gc",
    ),
    Pair(
        "cycle_of_an_error",
        "error|__traceback__|last",
        """\
def attempt(x):
    last = None
    try:
        raise ValueError(x.mean().item())
    except ValueError as error:
        last = error
    return str(last)


for step in range(STEPS):
    x = batch(64)
    attempt(x)
    train(x)
""",
        (("    return str(last)\n", "    try:\n        return str(last)\n    finally:\n        del last\n"),),
        "the frame keeps the error whose traceback keeps the frame",
        "the frame lets the error go",
        truth="needs-gc",
    ),
    Pair(
        "cycles_without_a_collector",
        "Node|me",
        """\
import gc

gc.disable()


class Node:
    def __init__(self):
        self.me = self
        self.x = batch()


for step in range(STEPS):
    node = Node()
    train(node.x)
    if step % 5 == 4:
        count = gc.get_count()
""",
        (("count = gc.get_count()", "gc.collect()"),),
        "the program has disabled the collector and never calls it",
        "the program calls the collector every five steps",
        twin_truth="needs-gc",
        steps=(40, 400),
    ),
    Pair(
        "garbage_frozen",
        "Node|me",
        """\
import gc


class Node:
    def __init__(self):
        self.me = self
        self.x = batch()


gc.freeze()
for step in range(STEPS):
    node = Node()
    train(node.x)
    if step % 3 == 0:
        gc.freeze()
""",
        (("        self.me = self\n", "        self.me = None\n"),),
        "gc.freeze() takes garbage, which then is never collected",
        "there is no garbage to freeze",
    ),
    Pair(
        "global_names",
        "__main__",
        """\
for step in range(STEPS):
    x = batch()
    globals()[f"input_{step}"] = x
    train(x)
""",
        (('f"input_{step}"', '"input_0"'),),
        "each step makes a new global",
        "the same global is set again",
    ),
    Pair(
        "default_argument",
        "collect",
        """\
def collect(x, seen=[]):
    seen.append(x)
    return torch.stack(seen[-2:]).mean(0)


for step in range(STEPS):
    train(collect(batch()))
""",
        (("seen.append(x)", "seen[:] = [*seen[-1:], x]"),),
        "the list of the default argument is one for all calls",
        "it is cut to two",
    ),
    Pair(
        "list_of_a_class",
        "inputs",
        """\
class Step:
    inputs = []

    def __init__(self, x):
        Step.made = getattr(Step, "made", 0) + 1
        self.inputs.append(x)


for step in range(STEPS):
    one = Step(batch())
    train(one.inputs[-1])
""",
        (("        self.inputs.append(x)", "        self.inputs = [x]"),),
        "the list belongs to the class, not to the instance",
        "each instance has its own",
    ),
    Pair(
        "closures_kept",
        "callbacks",
        """\
callbacks = []
for step in range(STEPS):
    x = batch()
    callbacks.append(lambda x=x: x.mean())
    train(x)
    if len(callbacks) > 3:
        value = callbacks[0]()
""",
        (("value = callbacks[0]()", "value = callbacks.pop(0)()"),),
        "each function keeps its batch as a default argument",
        "a function is called and removed",
    ),
    Pair(
        "chain_of_nodes",
        "previous|node",
        """\
class Node:
    def __init__(self, x, previous):
        self.x, self.previous = x, previous


node = None
for step in range(STEPS):
    x = batch()
    node = Node(x, node)
    train(x)
    if node.previous is not None:
        difference = node.x - node.previous.x
""",
        (("node.previous.x\n", "node.previous.x\n        node.previous = None\n"),),
        "each node refers to the one before",
        "the reference is cut after its use",
    ),
    Pair(
        "linked_states",
        "state",
        """\
state = ()
for step in range(STEPS):
    x = batch()
    state = (x, state)
    train(state[0])
""",
        (("(x, state)", "(x, state[:1])"),),
        "a tuple in a tuple in a tuple",
        "the newest two",
    ),
    Pair(
        "tuple_extended",
        "history",
        """\
history = ()
for step in range(STEPS):
    x = batch()
    history = (*history, x)
    train(torch.stack(history[-3:]).mean(0))
""",
        (("(*history, x)", "(*history[-2:], x)"),),
        "a tuple that is extended from itself",
        "it is cut to three",
    ),
    Pair(
        "settings_merged",
        "settings",
        """\
settings = {}
for step in range(STEPS):
    x = batch()
    settings = {**settings, f"input {step}": x}
    train(x)
""",
        (('f"input {step}"', '"input"'),),
        "a dict that is made anew from itself with one more key",
        "the same key is written again",
    ),
    Pair(
        "lists_by_epoch",
        "epochs",
        """\
epochs = {}
for step in range(STEPS):
    x = batch()
    epoch = step // 4
    if epoch not in epochs:
        epochs = dict(epochs)
    epochs.setdefault(epoch, []).append(x)
    train(x)
""",
        (("epochs = dict(epochs)", "epochs = {}"),),
        "the lists of all epochs are kept",
        "a new epoch begins with an empty dict",
        steps=(40, 400),
    ),
    Pair(
        "fields_of_a_data_class",
        "inputs",
        """\
from dataclasses import dataclass, field


@dataclass
class State:
    step: int = 0
    inputs: dict[int, torch.Tensor] = field(default_factory=dict)


state = State()
for step in range(STEPS):
    state.step = step
    state.inputs[state.step] = batch()
    train(state.inputs[state.step])
""",
        (("state.inputs[state.step] = batch()", "state.inputs = {state.step: batch()}"),),
        "a key for each step in a field",
        "the field is replaced",
    ),
    Pair(
        "slots",
        "items",
        """\
class Ring:
    __slots__ = ("items", "size")

    def __init__(self, size):
        self.items, self.size = [], size

    def push(self, x):
        self.items.insert(0, x)
        if len(self.items) > 1 + self.size:
            self.items = [*self.items]


ring = Ring(3)
for step in range(STEPS):
    x = batch()
    ring.push(x)
    train(x)
""",
        (("[*self.items]", "self.items[: self.size]"),),
        "the list is copied, not cut",
        "the list is cut to its size",
    ),
    Pair(
        "one_in_seven_steps",
        "samples",
        """\
samples = []
for step in range(STEPS):
    x = batch(32)
    train(x)
    if step % 7 == 6:
        samples.append(x)
        if step % 2 == 7:
            samples.clear()
""",
        (("if step % 2 == 7:", "if len(samples) == 3:"),),
        "one in seven steps adds 8 kB; the condition for the clear() is never true",
        "three are collected, then the list is cleared",
        steps=(400,),
    ),
    Pair(
        "one_in_thirty_steps",
        "evaluations",
        """\
evaluations = []
for step in range(STEPS):
    train(batch())
    if step % 30 == 29:
        with torch.no_grad():
            evaluations.append(net[0](batch(128)))
""",
        (("evaluations.append(net[0](batch(128)))", "evaluations = [net[0](batch(128))]"),),
        "one in thirty steps adds 32 kB",
        "the list is replaced",
        steps=(400,),
    ),
    Pair(
        "begins_in_the_middle",
        "late",
        """\
late = []
for step in range(STEPS):
    x = batch()
    train(x)
    if step > <N/2>:
        late.append(x)
        if len(x) > 30:
            late.clear()
""",
        (("len(x) > 30", "len(late) > 6"),),
        "growth begins in the middle of the run and does not end",
        "the list is cleared when it has more than six",
        steps=(400,),
    ),
    Pair(
        "ends_in_the_first_half",
        "warm",
        """\
warm = []
for step in range(STEPS):
    x = batch()
    train(x)
    if step >= 0:
        warm.append(x)
""",
        (("step >= 0", "step < <N/4>"),),
        "growth goes on to the last step of the run",
        "growth ends after a quarter of the run",
        steps=(400,),
    ),
    Pair(
        "second_optimizer_begins_late",
        "outputs",
        """\
critic = nn.Linear(64, 64)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
outputs = []
for step in range(STEPS):
    x = batch()
    train(x)
    if step >= <N/2>:
        output = critic(x)
        critic_optimizer.zero_grad()
        output.square().mean().backward()
        critic_optimizer.step()
        outputs.append(output.detach())
""",
        (("outputs.append(output.detach())", "outputs[:] = [output.detach()]"),),
        "from the middle of the run on, each step keeps an output",
        "the state of the second optimizer appears in the middle of the run, once",
        steps=(400,),
    ),
    Pair(
        "live_weights",
        "saved",
        """\
saved = []
for step in range(STEPS):
    train(batch())
    saved.append(net.state_dict())
""",
        (("saved.append(net.state_dict())", "saved = [net.state_dict()]"),),
        "the weights are shared, but each step keeps a dict with four tensor objects",
        "one dict",
        small=True,
    ),
    Pair(
        "requests_by_label",
        "children",
        """\
class Gauge:
    __slots__ = ("value",)


class Metric:
    def __init__(self):
        self.children = {}

    def labels(self, *values):
        if values not in self.children:
            self.children[values] = Gauge()
        return self.children[values]


served = Metric()
number = 10**6
for step in range(STEPS):
    for _ in range(3):
        number += 1
        served.labels("score", str(number)).value = step
    train(batch())
""",
        (("str(number)", "str(number % 3)"),),
        "three new labels a step, less than 1 kB",
        "three labels",
        small=True,
    ),
    Pair(
        "explainers_of_calls",
        "explainers",
        """\
class Explainer:
    def __init__(self, model):
        self.model = model
        self.notes = {f"feature {i}": [0.5 * i, str(i)] for i in range(40)}

    def explain(self, x):
        for target in range(5):
            x = x.detach().requires_grad_()
            self.model(x)[:, target].sum().backward()
        return x.grad


explainers = []
for step in range(STEPS):
    explainer = Explainer(net)
    explainers.append(explainer)
    explainer.explain(batch())
""",
        (("explainers.append(explainer)", "explainers = [explainer]"),),
        "an explainer for each call, in a program whose steps are backward passes",
        "the newest explainer is kept",
        steps=(400,),
    ),
    Pair(
        "records_of_counts",
        "by_class",
        """\
class Confusion:
    def __init__(self):
        self.by_class = {}

    def update(self, guesses, labels, step):
        for guess, label in zip(guesses.tolist(), labels.tolist()):
            key = (guess, label, step // 2)
            self.by_class.setdefault(key, np.zeros(64))[guess % 64] += 1


confusion = Confusion()
for step in range(STEPS):
    train(batch())
    confusion.update(torch.randint(4, (32,)), torch.randint(4, (32,)), step)
""",
        (("(guess, label, step // 2)", "(guess, label)"),),
        "counts for each pair of classes and two steps: about 5 kB a step",
        "sixteen pairs of classes",
        steps=(40, 400),
    ),
    Pair(
        "files_left_open",
        "files",
        """\
import tempfile

files = []
for step in range(STEPS):
    x = batch()
    file = tempfile.TemporaryFile()
    file.write(x.numpy().tobytes())
    files.append(file)
    train(x)
    file.flush()
""",
        (("    file.flush()\n", "    files.remove(file)\n    file.close()\n"),),
        "each step opens a file and keeps it",
        "the file is closed and removed",
    ),
    Pair(
        "memory_of_c",
        "",
        """\
import ctypes

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.malloc.argtypes = [ctypes.c_size_t]
for step in range(STEPS):
    x = batch()
    pointer = libc.malloc(64_000)
    ctypes.memmove(pointer, x.data_ptr(), 4096)
    train(x)
    libc.free(None)
""",
        (("libc.free(None)", "libc.free(pointer)"),),
        "64 kB a step are taken from C and not given back",
        "given back after the step",
        steps=(400,),
    ),
    Pair(
        "classes_made_in_a_loop",
        "Batch|__mro__|__dict__",
        """\
class Holder:
    pass


for step in range(STEPS):
    x = batch(64)

    class Batch(Holder):
        data = x

    train(Batch.data)
""",
        (("    class Batch(Holder):\n        data = x\n", "    Batch = Holder()\n    Batch.data = x\n"),),
        "a class is a cycle: each waits for the collector with its batch",
        "an instance",
        truth="needs-gc",
    ),
    Pair(
        "methods_of_self",
        "Handler|on_batch|handle",
        """\
class Handler:
    def __init__(self, x):
        self.x = x
        self.on_batch = self.handle

    def handle(self):
        return train(self.x)


for step in range(STEPS):
    handler = Handler(batch())
    handler.on_batch()
""",
        (("self.on_batch = self.handle", "self.on_batch = lambda: train(x)"),),
        "an attribute holds a method of the same object: a cycle that waits for the collector",
        "the attribute holds a function that knows the batch only",
        truth="needs-gc",
    ),
)
