"""Threads that build, share, drop and run graphs at once. Run with `make hammer`, or `make hammer ARGS="--seconds 5"`.

No crash, no deadlock, no error but those that the programs raise themselves, and nothing alive at the end. 0 if so.
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

PATIENCE = 120  # seconds that the threads may take to end after their time is up
SHARED = 16  # tensors that all threads see


class Wanted(Exception):
    """Raised by hooks and Functions on purpose."""


class Scaled(torch.autograd.Function):
    """Keeps its input in every way, one that leaks but for the collector left out."""

    @staticmethod
    def forward(ctx: Any, x: Any, fails: bool) -> Any:
        ctx.save_for_backward(x)
        ctx.fails = fails
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        if ctx.fails:
            raise Wanted
        return gradient * 2 + ctx.saved_tensors[0] * 0, None


class Hammer:
    """The graphs that the threads share, and their counts."""

    def __init__(self, seconds: float, seed: int) -> None:
        self.until = time.monotonic() + seconds
        self.leaf = torch.ones(4, requires_grad=True)
        self.shared: list[Any] = [self.leaf * 1 for _ in range(SHARED)]
        self.done: Counter[str] = Counter()
        self.errors: list[BaseException] = []
        self.seed = seed
        # What a release lacks is not run there: hooks of nodes and their metadata in OneFlow, `packs` where it says so.
        self.is_oneflow = is_oneflow()
        can_pack = hasattr(torch.autograd, "graph") and not self.is_oneflow
        self.programs = [each for each in PROGRAMS if each is not packs or can_pack]

    def work(self, number: int) -> None:
        """One thread: random programs until the time is up, or something went wrong."""
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
        """Share it; what was there is dropped, perhaps while others run through it."""
        self.shared[chance.randrange(SHARED)] = tensor


def builds(hammer: Hammer, chance: random.Random) -> None:
    """A longer graph behind a shared one, which sometimes starts anew."""
    source = hammer.leaf if chance.random() < 0.3 else hammer.taken(chance)
    made = (source.sin() * 2 + source).view(2, 2).t().reshape(4)
    hammer.put(chance, made)


def runs_own(hammer: Hammer, chance: random.Random) -> None:
    """A graph that only its leaf's gradient comes out of."""
    x = torch.ones(3, requires_grad=True)
    total = (x * x).exp().sum() + Scaled.apply(x, False).sum()
    # In OneFlow a result that its own node saved, as exp does, keeps itself until a backward frees it.
    total.backward(retain_graph=not hammer.is_oneflow and chance.random() < 0.5)


def runs_shared(hammer: Hammer, chance: random.Random) -> None:
    """A backward through what other threads run through, too."""
    torch.autograd.grad(hammer.taken(chance).sum(), hammer.leaf, retain_graph=True)


def hooks(hammer: Hammer, chance: random.Random) -> None:
    """Hooks of every kind, on something shared and on something of its own."""
    x = hammer.taken(chance)
    handles = [x.register_hook(lambda gradient: gradient * 1)]
    if not hammer.is_oneflow:
        handles.append(x.grad_fn.register_hook(lambda inputs, outputs: None))
        if hasattr(x.grad_fn, "register_prehook"):  # which nodes of the early releases lack
            handles.append(x.grad_fn.register_prehook(lambda gradients: None))
    torch.autograd.grad(x.sum(), hammer.leaf, retain_graph=True)
    for handle in handles if not hammer.is_oneflow else []:  # there a hook stays as long as its tensor
        handle.remove()


def packs(hammer: Hammer, chance: random.Random) -> None:
    """Saved-tensor hooks that keep something beside the tensor; sometimes the unpacking fails.

    Left out where there are none, and in OneFlow: there they are one stack for all threads, so that one pops what another
    pushed, and what they packed is never freed.
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
    """A backward that ends in a Function, half-way through a shared graph."""
    fails = chance.random() < 0.7
    total = Scaled.apply(hammer.taken(chance), fails).sum()
    expect(partial(torch.autograd.grad, total, hammer.leaf, retain_graph=True), fails)


def makes_cycles(hammer: Hammer, chance: random.Random) -> None:
    """Garbage for the collector, of which it runs in any thread."""
    y = (hammer.taken(chance) * 2).sum()
    cycle: list[Any] = [y]
    cycle.append(cycle)
    if not hammer.is_oneflow:
        y.grad_fn.metadata["beside"] = 1
    if chance.random() < 0.05:
        gc.collect(0)


def looks(hammer: Hammer, chance: random.Random) -> None:
    """Wrappers of nodes and saved tensors that come and go."""
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
        is_quoted = str(error) == "Wanted: "  # up to 1.13, out of a saved-tensor hook
        if not (fails and (isinstance(error, Wanted) or is_quoted)):
            raise


PROGRAMS = (builds, runs_own, runs_shared, hooks, packs, fails_in_backward, makes_cycles, looks)


def main() -> int:
    arguments = parse_arguments()
    faulthandler.enable()
    faulthandler.dump_traceback_later(arguments.seconds + PATIENCE, exit=True)  # says where each thread hangs
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
