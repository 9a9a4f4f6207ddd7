"""The mini engine beside PyTorch: microseconds for small autograd work, both measured in this run.

The engine is made to be watched, not to be fast; this shows that watching it is affordable. Run with `make bench`.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import time
from collections.abc import Callable
from typing import Any

Work = Callable[[], object]


def chain(fw: Any, length: int) -> Any:
    x = fw.ones(8, requires_grad=True)
    y = x
    for _ in range(length):
        y = y.sin()
    return y


def forward_backward(fw: Any, length: int) -> Work:
    return lambda: chain(fw, length).sum().backward()


def build_and_drop(fw: Any, length: int) -> Work:
    return lambda: chain(fw, length)


def matrix_product(fw: Any, size: int) -> Work:
    a, b = fw.ones(size, size), fw.ones(size, size)
    return lambda: a.matmul(b)


def custom_function(fw: Any) -> Work:
    class Double(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (_,) = ctx.saved_tensors
            return grad * 2

    x = fw.ones(8, requires_grad=True)
    return lambda: Double.apply(x).sum().backward()


def grad_fn_identity(fw: Any) -> Work:
    y = fw.ones(8, requires_grad=True).sin()
    return lambda: y.grad_fn


WORKLOADS: dict[str, Callable[[Any], Work]] = {
    "forward + backward, 1 op": lambda fw: forward_backward(fw, 1),
    "forward + backward, 100 ops": lambda fw: forward_backward(fw, 100),
    "build and drop 1,000 nodes": lambda fw: build_and_drop(fw, 1_000),
    "autograd.Function round trip": custom_function,
    "read y.grad_fn": grad_fn_identity,
    "matmul 64 x 64": lambda fw: matrix_product(fw, 64),
}


def microseconds(work: Work, seconds: float) -> float:
    """The best of several batches: what the work costs when nothing disturbs it."""
    work()
    batch, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds / 5:
        work()
        batch += 1
    return min(timed(work, max(1, batch)) for _ in range(4)) * 1e6


def timed(work: Work, times: int) -> float:
    gc.collect()
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times


def frameworks() -> dict[str, Any]:
    found = {}
    for name, module in (("mini", "gradlife.engine"), ("torch", "torch")):
        try:
            found[name] = importlib.import_module(module)
        except ImportError as error:
            print(f"{name}: left out, {error}")
    if "torch" in found:
        found["torch"].set_num_threads(1)
    return found


def main() -> None:
    """Print one row a workload: microseconds for each framework."""
    parser = argparse.ArgumentParser(prog="benchmarks.engine", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each workload and framework")
    seconds = parser.parse_args().seconds
    systems = frameworks()
    print(f"{'microseconds, best of 4':32}" + "".join(f"{name:>12}" for name in systems))
    for title, prepare in WORKLOADS.items():
        cells = [f"{microseconds(prepare(fw), seconds):12.2f}" for fw in systems.values()]
        print(f"{title:32}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
