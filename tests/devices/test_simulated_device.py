"""Blocks of a device joined with the objects that own them, on an accelerator that is simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.whole]

Program = Callable[..., dict[str, Any]]

MODEL = """
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)).to(device)
optimizer = torch.optim.AdamW(model.parameters())
target = torch.zeros(64, dtype=torch.long, device=device)
def step(keep=None):
    loss = torch.nn.functional.cross_entropy(model(torch.randn(64, 256, device=device)), target)
    if keep is not None:
        keep.append(loss)
    loss.backward()
    optimizer.step()
"""


def owners(shown: dict[str, Any], device: int = 0) -> dict[str, int]:
    """Bytes by owner."""
    return {one["text"]: one["bytes"] for one in shown["devices"][device]["owners"]}


def rounded(*elements: int) -> int:
    """Bytes of blocks for tensors of so many floats."""
    return sum(-(-4 * count // 512) * 512 for count in elements)


PARAMETERS = (256 * 512, 512, 512 * 16, 16)


def test_parameters_gradients_and_optimizer_state_own_their_blocks(on_device: Program) -> None:
    shown = on_device(f"{MODEL}\nstep()\nshow()")
    assert owners(shown) == {
        "optimizer state": 2 * rounded(*PARAMETERS),
        "parameters": rounded(*PARAMETERS),
        "gradients": rounded(*PARAMETERS),
        "target of __main__": 512,
    }
    assert {one["kind"] for one in shown["devices"][0]["owners"]} == {"holder"}


def test_every_byte_in_use_has_an_owner(on_device: Program) -> None:
    (device,) = on_device(f"{MODEL}\nkept = []\nfor _ in range(5): step(kept)\nshow()")["devices"]
    assert sum(one["bytes"] for one in device["owners"]) == device["used_bytes"] + device["waiting_bytes"]
    assert device["reserved_bytes"] == device["used_bytes"] + device["free_bytes"]


def test_tensors_of_a_list_are_one_owner_named_by_the_variable(on_device: Program) -> None:
    shown = on_device("kept = [torch.zeros(1000, device=device) for _ in range(8)]\nshow()")
    assert owners(shown) == {"kept of __main__": 8 * 4096}


def test_a_graph_that_a_loss_keeps_is_saved_activations(on_device: Program) -> None:
    shown = on_device("""
x = torch.ones(1000, device=device, requires_grad=True)
def losses(count):
    return [x.exp().sum() for _ in range(count)]
kept = losses(4)
show()
""")
    assert owners(shown) == {"saved activations": 4 * 4096, "x of __main__": 4096, "kept of __main__": 4 * 512}


def test_a_freed_block_that_a_stream_still_uses_waits(on_device: Program) -> None:
    program = """
stream = torch.Stream(device=device)
x = torch.zeros(1000, device=device)
x.record_stream(stream)
del x
{}
show()
"""
    (device,) = on_device(program.format(""))["devices"]
    assert (device["waiting_bytes"], device["owners"][0]["kind"]) == (4096, "stream")
    (device,) = on_device(program.format("stream.synchronize()"))["devices"]
    assert (device["waiting_bytes"], device["owners"]) == (0, [])


def test_the_streams_that_a_freed_block_may_wait_for_are_named(on_device: Program) -> None:
    shown = on_device("""
side = torch.Stream(device=device)
own = torch.Stream(stream_id=0, device_index=0, device_type=side.device_type)
x = torch.zeros(1000, device=device)
x.record_stream(side)
del x
show()
""")
    (owner,) = shown["devices"][0]["owners"]
    assert (owner["kind"], owner["path"]) == ("stream", "module __main__: global variable 'side'")


def test_an_owner_has_the_path_to_its_largest_storage(on_device: Program) -> None:
    shown = on_device("""
class Cache:
    def __init__(self):
        self.kept = [torch.zeros(10, device=device), torch.zeros(1000, device=device)]
cache = Cache()
show()
""")
    (owner,) = shown["devices"][0]["owners"]
    assert owner["path"].startswith("module __main__: global variable 'cache'.kept[*]")


def test_memory_that_no_storage_describes_belongs_to_the_line_that_took_it(on_device: Program) -> None:
    shown = on_device("""
pointer = native.allocate(0, 1000)  # as a library does for its workspace
show()
""")
    ((text, nbytes),) = owners(shown).items()
    assert (text.rpartition("/")[2].partition(":")[0], nbytes) == ("program.py", 1024)


def test_an_out_of_memory_says_what_was_asked_for_and_that_memory_is_in_pieces(on_device: Program) -> None:
    shown = on_device("""
native.set_capacity(0, 64 << 20)
pieces = [torch.zeros(5 << 18, device=device) for _ in range(12)]  # 5 MB each
kept = pieces[::2]
del pieces
try:
    torch.zeros(6 << 20, device=device)  # 24 MB
except torch.OutOfMemoryError:
    show()
""")
    (device,) = shown["devices"]
    assert device["failed"]["bytes"] == 24 << 20
    assert device["failed"]["frames"][0]["file"].endswith("program.py")
    assert device["free_bytes"] > device["failed"]["bytes"] > device["largest_free_bytes"]
    assert [(pin["owner"], pin["blocks"]) for pin in device["pins"]] == [("kept of __main__", 6)]


def test_each_device_has_its_own_memory(on_device: Program) -> None:
    shown = on_device("""
near = torch.zeros(1000, device="simulated:0")
far = torch.zeros(2000, device="simulated:1")
show()
""")
    assert [one["device"] for one in shown["devices"]] == ["simulated:0", "simulated:1"]
    assert [owners(shown, number) for number in (0, 1)] == [
        {"near of __main__": 4096},
        {"far of __main__": 8192},
    ]


def test_without_a_device_in_use_there_is_nothing_to_report(on_device: Program) -> None:
    assert on_device("show()")["devices"] == []
