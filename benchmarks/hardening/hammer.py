"""Threads that build, share, drop and run graphs concurrently. Run with `make hammer`, or `make hammer ARGS="--seconds
5"`.

There must be no crash, no deadlock, no errors except those that the programs raise, and nothing alive at the end. Exit
status 0 if so.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import gradlife.engine as torch
from gradlife.engine.release import is_oneflow

PATIENCE = 120  # seconds for threads to end after their time is up
SHARED = 16  # tensors that all threads see


class Wanted(Exception):
    """Raised by hooks and Functions on purpose."""


class Scaled(torch.autograd.Function):
    """Keep the input in every way, except one that leaks without the collector."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.note = "kept"
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 2 + ctx.saved_tensors[0] * 0


class Failing(Scaled):
    """Its backward fails."""

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        raise Wanted


class Hammer:
    """The graphs that the threads share, and their counts."""

    def __init__(self, seconds: float, seed: int) -> None:
        self.until = time.monotonic() + seconds
        self.leaf = torch.ones(4, requires_grad=True)
        self.shared: list[Any] = [self.leaf * 1 for _ in range(SHARED)]
        self.done: Counter[str] = Counter()
        self.errors: list[BaseException] = []
        self.seed = seed
        # Features that a release lacks are skipped: hooks of nodes and their metadata in OneFlow; `packs` where it says so.
        self.is_oneflow = is_oneflow()
        can_pack = hasattr(torch.autograd, "graph") and not self.is_oneflow
        self.programs = [each for each in PROGRAMS if each is not packs or can_pack]

    def work(self, number: int) -> None:
        """Run one thread: random programs until time is up or an error occurs."""
        chance = random.Random(self.seed * 1000 + number)
        try:
            while time.monotonic() < self.until and not self.errors:
                program = chance.choice(self.programs)
                program(self, chance)
                self.done[program.__name__] += 1
        except BaseException as error:
            self.errors.append(error)

    def taken(self, chance: random.Random) -> Any:
        return self.shared[chance.randrange(SHARED)]

    def put(self, chance: random.Random, tensor: Any) -> None:
        """Share a graph; the old one is dropped, perhaps while others run through it."""
        self.shared[chance.randrange(SHARED)] = tensor


def builds(hammer: Hammer, chance: random.Random) -> None:
    """Build a longer graph behind a shared one, which sometimes starts anew."""
    source = hammer.leaf if chance.random() < 0.3 else hammer.taken(chance)
    made = (source.sin() * 2 + source).view(2, 2).t().reshape(4)
    hammer.put(chance, made)


def runs_own(hammer: Hammer, chance: random.Random) -> None:
    """Run a private graph, whose only result is its leaf's gradient."""
    x = torch.ones(3, requires_grad=True)
    total = (x * x).exp().sum() + Scaled.apply(x).sum()
    # In OneFlow a result saved by its own node, as by exp, keeps itself until a backward frees it.
    total.backward(retain_graph=not hammer.is_oneflow and chance.random() < 0.5)


def runs_shared(hammer: Hammer, chance: random.Random) -> None:
    """Run a backward through a graph that other threads run through, too."""
    torch.autograd.grad(hammer.taken(chance).sum(), hammer.leaf, retain_graph=True)


def hooks(hammer: Hammer, chance: random.Random) -> None:
    """Set hooks of every kind, on shared and private objects."""
    x = hammer.taken(chance)
    handles = [x.register_hook(lambda gradient: gradient * 1)]
    if not hammer.is_oneflow:
        handles.append(x.grad_fn.register_hook(lambda inputs, outputs: None))
        if hasattr(x.grad_fn, "register_prehook"):  # nodes of the early releases lack them
            handles.append(x.grad_fn.register_prehook(lambda gradients: None))
    torch.autograd.grad(x.sum(), hammer.leaf, retain_graph=True)
    for handle in handles if not hammer.is_oneflow else []:  # there a hook stays as long as its tensor
        handle.remove()


def packs(hammer: Hammer, chance: random.Random) -> None:
    """Set saved-tensor hooks that keep something beside the tensor; unpacking sometimes fails.

    Skipped in releases without them, and in OneFlow: its threads share one stack, so one pops what another pushed, and
    packed data is never freed.
    """
    fails = chance.random() < 0.3

    def unpack(packed: Any) -> Any:
        if fails:
            raise Wanted
        return packed[0]

    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: (tensor.detach(), [tensor.shape]), unpack):
        total = (x.sin() * x).sum()
    expect(total.backward, fails)


def fails_in_backward(hammer: Hammer, chance: random.Random) -> None:
    """Run a backward that fails in a Function, halfway through a shared graph."""
    fails = chance.random() < 0.7
    total = (Failing if fails else Scaled).apply(hammer.taken(chance)).sum()
    expect(partial(torch.autograd.grad, total, hammer.leaf, retain_graph=True), fails)


def makes_cycles(hammer: Hammer, chance: random.Random) -> None:
    """Make garbage, which the collector frees in any thread."""
    y = (hammer.taken(chance) * 2).sum()
    cycle: list[Any] = [y]
    cycle.append(cycle)
    if not hammer.is_oneflow:
        y.grad_fn.metadata["beside"] = 1
    if chance.random() < 0.05:
        gc.collect(0)


def looks(hammer: Hammer, chance: random.Random) -> None:
    """Create and drop wrappers of nodes and saved tensors."""
    node = hammer.taken(chance).grad_fn
    for _ in range(5):
        if node is None:
            return
        following, *_ = node.next_functions or [None]
        node = following[0] if isinstance(following, tuple) else following
    torch.live_counts()


def expect(action: Callable[[], Any], fails: bool) -> None:
    try:
        action()
    except (Wanted, RuntimeError) as error:
        is_quoted = str(error) == "Wanted: "  # up to 1.13, from a saved-tensor hook
        if not (fails and (isinstance(error, Wanted) or is_quoted)):
            raise


PROGRAMS = (builds, runs_own, runs_shared, hooks, packs, fails_in_backward, makes_cycles, looks)


def main() -> int:
    arguments = parse_arguments()
    faulthandler.enable()
    faulthandler.dump_traceback_later(arguments.seconds + PATIENCE, exit=True)  # prints where each thread hangs
    sys.setswitchinterval(1e-5)
    torch.set_default_profile(arguments.profile)
    gc.collect()
    before = torch.live_counts()
    hammer = Hammer(arguments.seconds, arguments.seed)
    threads = [threading.Thread(target=hammer.work, args=(number,)) for number in range(arguments.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done, errors = hammer.done, hammer.errors
    del hammer, threads, thread
    return report(before, done, errors)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make hammer", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", default="torch-2.13")
    return parser.parse_args()


def report(before: dict[str, int], done: Counter[str], errors: list[BaseException]) -> int:
    print(*[f"{type(error).__name__}: {error}\n" for error in errors], sep="", end="")
    has_failed = bool(errors)
    errors.clear()
    gc.collect()
    left = {kind: count - before[kind] for kind, count in torch.live_counts().items() if count != before[kind]}
    print(f"{sum(done.values())} programs ({', '.join(f'{name} {count}' for name, count in sorted(done.items()))})")
    print(f"left alive: {left or 'nothing'}")
    return 1 if has_failed or left else 0


if __name__ == "__main__":
    sys.exit(main())
