"""What keeps memory of the simulated accelerator beside tensors: pools of graphs, streams, workspaces, pinned memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.whole]

Program = Callable[..., dict[str, Any]]

CAPTURE = """
from simulated_device import Graph
def capture(pool=None):
    graph = Graph(pool)
    with graph:
        scratch = torch.ones(2 << 20, device=device)  # 8.39 MB, freed in the capture
        del scratch
        output = torch.ones(1 << 20, device=device)   # 4.19 MB in the block that it left
    return graph, output
first, output = capture()
"""


def advice(shown: dict[str, Any]) -> dict[str, int]:
    """Bytes by code."""
    return {one["code"]: one["saved_bytes"] for one in shown["devices"][0]["advice"]}


def test_a_captured_graph_keeps_its_pool(on_device: Program) -> None:
    shown = on_device(f"{CAPTURE}\nshow()")
    (found,) = shown["devices"]
    assert advice(shown) == {"GL904": (20 << 20) - (4 << 20)}
    assert [(one["text"], one["bytes"]) for one in found["owners"]] == [("output of __main__", 4 << 20)]
    assert (found["idle_bytes"], found["private_free_bytes"], found["reserved_bytes"]) == (0, 16 << 20, 20 << 20)


def test_a_graph_that_is_dropped_lets_its_pool_go(on_device: Program) -> None:
    shown = on_device(f"{CAPTURE}\ndel output\nfirst.reset()\nnative.empty_cache()\nshow()")
    assert shown["devices"] == []


def test_the_pool_of_a_living_graph_stays_though_all_of_it_is_free(on_device: Program) -> None:
    shown = on_device(f"{CAPTURE}\ndel output\nnative.empty_cache()\nshow()")
    assert advice(shown) == {"GL904": 20 << 20}


def test_graphs_that_share_a_pool_need_less(on_device: Program) -> None:
    shared = on_device(f"{CAPTURE}\nsecond, other = capture(first.pool)\nshow()")
    apart = on_device(f"{CAPTURE}\nsecond, other = capture()\nshow()")
    assert (advice(shared), advice(apart)) == ({"GL904": 12 << 20}, {"GL904": 32 << 20})


def test_the_pool_of_torch_compiles_graphs_is_known_without_stacks(on_device: Program) -> None:
    """A real one has no stacks, as a test on a GPU showed: its manager has the number of the pool."""
    shown = on_device(f"""{CAPTURE}
import sys, types
class CUDAGraphTreeManager:
    pass
trees = types.ModuleType("torch._inductor.cudagraph_trees")
trees.CUDAGraphTreeManager = CUDAGraphTreeManager
sys.modules[trees.__name__] = trees
begun, manager = CUDAGraphTreeManager(), CUDAGraphTreeManager()
manager.cuda_graphs_thread_pool = first.pool
show()
""")
    assert advice(shown) == {"GL905": (20 << 20) - (4 << 20)}


def test_a_tensor_that_a_stream_used_waits_after_it_was_freed(on_device: Program) -> None:
    shown = on_device("""
side = torch.Stream(device=device)
x = torch.ones(1 << 20, device=device)
x.record_stream(side)
del x
show()
""")
    assert advice(shown) == {"GL906": 4 << 20}


def test_workspaces_on_two_streams(on_device: Program) -> None:
    shown = on_device("""
model = torch.nn.Linear(64, 64).to(device)
workspaces = [native.allocate(0, 8_519_680) for _ in range(2)]  # as cuBLAS does for each handle and stream
show()
""")
    assert advice(shown) == {"GL907": 2 * 8_519_680}


def test_pinned_batches_that_were_copied_without_waiting_stay_in_the_cache(on_device: Program) -> None:
    shown = on_device("""
for step in range(6):
    batch = torch.ones(1 << 20).pin_memory()
    near = batch.to(device, non_blocking=True)
del batch
torch.accelerator.synchronize()
show()
""")
    assert (shown["pinned"]["bytes"], shown["pinned"]["active_bytes"]) == (6 * (4 << 20), 0)
    assert shown["pinned"]["advice"]["code"] == "GL908"


def test_pinned_batches_that_are_waited_for_use_one_block(on_device: Program) -> None:
    shown = on_device("""
for step in range(6):
    batch = torch.ones(1 << 20).pin_memory()
    near = batch.to(device, non_blocking=True)
    torch.accelerator.synchronize()
    del batch
show()
""")
    assert (shown["pinned"]["bytes"], shown["pinned"]["active_bytes"]) == (4 << 20, 0)


def test_the_graphs_of_torch_compile_are_told_from_others_by_the_file_that_captures_them(on_device: Program) -> None:
    """Two shapes, two captures in one pool, allocated in torch's own file."""
    shown = on_device(f"""
{CAPTURE.partition("first, output")[0]}
trees = {{"capture": capture}}
code = "def record(pool):\\n    return capture(pool)\\n"
exec(compile(code, "/venv/site-packages/torch/_inductor/cudagraph_trees.py", "exec"), trees)
first, small = trees["record"](None)
second, large = trees["record"](first.pool)
show()
""")
    assert advice(shown) == {"GL905": 12 << 20}


def test_an_allocator_that_lists_no_blocks_keeps_what_is_cached(on_device: Program) -> None:
    """As cudaMallocAsync: sums alone, and the driver's pool keeps what was freed."""
    shown = on_device("""
def refuse():
    raise RuntimeError("Calling snapshot with backend:cudaMallocAsync is not meaningful.")
def stats(number):
    reserved, allocated = native.reserved_and_allocated(number)
    return {"reserved_bytes.all.current": reserved, "allocated_bytes.all.current": allocated}
torch.simulated.memory._snapshot = refuse
torch.simulated.memory_stats = stats
torch.simulated.get_allocator_backend = lambda: "cudaMallocAsync"
kept = torch.ones(1 << 20, device=device)
freed = torch.ones(1 << 22, device=device)
del freed
show()
""")
    (found,) = shown["devices"]
    assert advice(shown) == {"GL909": found["reserved_bytes"] - (4 << 20)}
    assert (found["used_bytes"], found["free_bytes"] >= 16 << 20) == (4 << 20, True)
    assert shown["limits"] == [
        "cudaMallocAsync lists no blocks: set PYTORCH_CUDA_ALLOC_CONF=backend:native to see their owners"
    ]
