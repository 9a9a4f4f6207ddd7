"""An interpreter that ends in the middle of things: exit status 0, and nothing is said."""

from __future__ import annotations

import pytest

from leftovers import run_script

BEGINNING = """
import atexit, sys, threading, time
import gradlife.engine as torch

x = torch.ones(3, requires_grad=True)

class Waiting(torch.autograd.Function):
    '''Its backward begins, says so, and then runs for longer than the interpreter.'''
    begun = threading.Event()
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        Waiting.begun.set()
        while True:
            (gradient * 2).sum()
            time.sleep(0.001)

def graph():
    return (x.sin() * x).sum()

def in_thread(work):
    threading.Thread(target=work, daemon=True).start()
"""

STATES = {
    "a graph in a global": "y = graph()",
    "a deep graph in a global": """
y = x
for _ in range(30_000):
    y = y.sin()
""",
    "a graph in a cycle": """
y = graph()
cycle = [y]
cycle.append(cycle)
y.grad_fn.metadata["cycle"] = cycle
""",
    "a graph in a cycle through C++": """
y = graph()
y.register_hook(lambda gradient, keep=y: None)
""",
    "a custom Function that keeps its own output": """
class Keeping(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.result = x * 2
        return ctx.result
y = Keeping.apply(x)
""",
    "hooks half run": """
def leaves(gradient):
    sys.exit(0)
y = graph()
x.register_hook(leaves)
y.grad_fn.register_hook(lambda inputs, outputs: None)
y.backward()
""",
    "an unpack hook half run": """
with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach(), lambda packed: sys.exit(0)):
    y = graph()
y.backward()
""",
    "saved-tensor hooks still pushed": """
pushed = torch.autograd.graph.saved_tensors_hooks(lambda tensor: [tensor.detach()], lambda packed: packed[0])
pushed.__enter__()
y = graph()
""",
    "a generator in the middle of a region": """
def steps():
    with torch.no_grad():
        y = graph()
        yield y
        y = None
running = steps()
next(running)
""",
    "a generator in the middle of saved-tensor hooks": """
def steps():
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: [tensor.detach()], lambda packed: packed[0]):
        yield graph()
running = steps()
y = next(running)
""",
    "a daemon thread in the middle of a backward": """
in_thread(lambda: Waiting.apply(x).sum().backward())
Waiting.begun.wait()
""",
    "a daemon thread that builds and runs graphs": """
begun = threading.Barrier(4)
def work():
    for number in range(sys.maxsize):
        y = graph()
        y.register_hook(lambda gradient: gradient * 1)
        y.backward()
        if number == 0:
            begun.wait()
for _ in range(3):
    in_thread(work)
begun.wait()
""",
    "a daemon thread whose locals hold the graph": """
ready = threading.Event()
def work():
    y = graph()
    ready.set()
    threading.Event().wait()
in_thread(work)
ready.wait()
""",
    "a thread that goes on after the main one": """
def work():
    for _ in range(200):
        graph().backward()
threading.Thread(target=work).start()
""",
    "a thread-local graph": """
kept = threading.local()
kept.graph = graph()
""",
    "atexit callbacks that use the engine": """
y = graph()
@atexit.register
def last():
    y.backward(retain_graph=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: [tensor.detach()], lambda packed: packed[0]):
        graph().backward()
    globals()["more"] = graph()
""",
    "destructors that use the engine": """
class Using:
    def __init__(self):
        self.graph, self.torch = graph(), torch
    def __del__(self):
        self.graph.backward()
        self.kept = self.torch.ones(2)
kept = Using()
y = graph()
y.grad_fn.metadata["kept"] = Using()
""",
    "a weak reference's callback that uses the engine": """
import weakref
y = graph()
watching = weakref.ref(y, lambda gone, torch=torch: torch.ones(2, requires_grad=True).sum().backward())
""",
    "anomaly mode on": """
torch.autograd.set_detect_anomaly(True)
y = graph()
""",
}


def run_to_exit(state: str, profile: str) -> tuple[int, str, str]:
    done = run_script(BEGINNING + STATES[state], GRADLIFE_PROFILE=profile)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("state", STATES)
def test_the_interpreter_ends_quietly_with(state: str) -> None:
    assert run_to_exit(state, "torch-2.13") == (0, "", "")


# What a release lacks that a state is made of: saved-tensor hooks until 1.10, where a hook's SystemExit arrives as a
# RuntimeError; metadata, node hooks with arguments and weak references in OneFlow.
WITH_SAVED_HOOKS = {
    "an unpack hook half run",
    "saved-tensor hooks still pushed",
    "a generator in the middle of saved-tensor hooks",
    "atexit callbacks that use the engine",
}
LACKING = {
    "torch-1.1": WITH_SAVED_HOOKS,
    "torch-1.2": WITH_SAVED_HOOKS,
    "torch-1.10": {"an unpack hook half run"},
    "torch-2.9": set[str](),
    "oneflow-0.9": WITH_SAVED_HOOKS
    | {
        "a graph in a cycle",
        "hooks half run",
        "destructors that use the engine",
        "a weak reference's callback that uses the engine",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "state"), [(profile, state) for profile in LACKING for state in STATES if state not in LACKING[profile]]
)
def test_in_older_releases_the_interpreter_ends_quietly_with(profile: str, state: str) -> None:
    assert run_to_exit(state, profile) == (0, "", "")


@pytest.mark.parametrize("profile", ["torch-1.1", "torch-1.10", "oneflow-0.9"])
def test_daemon_threads_end_quietly_where_the_backward_runs_in_a_thread_of_its_own_and_elsewhere(profile: str) -> None:
    assert run_to_exit("a daemon thread that builds and runs graphs", profile) == (0, "", "")
