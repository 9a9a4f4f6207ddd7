"""The first screen of a report of `gradlife.on_oom`: names that fit, each once, and what is large."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from gradlife.model.hunt import HELD
from gradlife.model.watching.out_of_memory import Growth, HeldByStep, LiveOwner, OutOfMemory, headline
from gradlife.reports.devices.out_of_memory import print_out_of_memory

CUDA = (
    "OutOfMemoryError: CUDA out of memory. Tried to allocate 16.00 MiB. GPU 0 has a total capacity of 79.18 GiB of which"
    " 70.78 GiB is free. Process 2721 has 814.00 MiB memory in use."
)
STORAGES = "torch::StorageImpl cuda:0"
HISTORY = LiveOwner("module __main__: global variable 'trainer'.history: list", 1_290_000_000)
HIDDEN = "local variable 'hidden' of Trainer.step, train.py:14"
LOSS = "local variable 'loss' of Trainer.step, train.py:14"


def shown(width: int, in_full: bool = False, **changes: Any) -> list[str]:
    parts: dict[str, Any] = {"owners": (), "growth": (), "held": ()}
    report = OutOfMemory(CUDA, "noon", 7, None, 10**9, 10**11, {}, **{**parts, **changes})
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        print_out_of_memory(console, report, "oom.json", in_full)
    return [line.rstrip() for line in capture.get().splitlines()]


def held(what: str, nbytes: int, storages: int = 1) -> HeldByStep:
    return HeldByStep(HELD, what, nbytes, storages)


def test_the_cause_ends_with_the_size_that_was_wanted_and_is_whole_in_full() -> None:
    assert shown(120)[1] == "   OutOfMemoryError: CUDA out of memory. Tried to allocate 16.00 MiB"
    assert " ".join(line.strip() for line in shown(120, in_full=True)[1:3]) == CUDA


def test_what_the_failed_step_holds_is_not_shown_as_an_owner_too() -> None:
    owners = (HISTORY, LiveOwner(f"{HIDDEN}: list", 50_000_000))
    found: dict[str, Any] = {
        "owners": owners,
        "held": (held(f"{HIDDEN}: list", 50_000_000, 3), held(f"{LOSS}: Tensor float32 []", 4)),
    }
    assert shown(120, **found)[3:] == [
        "Held by (what would be freed with each)",
        "   1.29 GB  module __main__: global variable 'trainer'.history: list",
        "Held by the failed step",
        f"     50 MB  {HIDDEN}: list, 3 storages",
    ]
    assert shown(120, in_full=True, **found)[-4:] == [
        f"     50 MB  {HIDDEN}: list",
        "Held by the failed step",
        f"     50 MB  {HIDDEN}: list, 3 storages",
        f"       4 B  {LOSS}: Tensor float32 []",
    ]


def test_the_graph_behind_a_variable_of_the_failed_step_is_no_owner_of_its_own() -> None:
    """On a GPU seven rows said ``out → grad_fn → next edge → ...``, below the row of ``out``."""
    graph = "local variable 'out' → grad_fn → next edge → saved tensor 'mat1' of Trainer.step, train.py:14"
    other = graph.replace("'out'", "'y'")
    owners = (HISTORY, LiveOwner(f"{graph}: torch::TensorImpl", 90_000_000), LiveOwner(f"{other}: A", 80_000_000))
    rows = (held("local variable 'out' of Trainer.step, train.py:14: Tensor float32 []", 99_000_000),)
    assert shown(120, owners=owners, held=rows)[4:6] == [
        "   1.29 GB  module __main__: global variable 'trainer'.history: list",
        f"     80 MB  {other}: A",
    ]


def test_objects_of_one_name_are_one_row_and_items_of_a_row_are_none() -> None:
    item = "module __main__: global variable 'trainer'.history[*] → storage: torch::StorageImpl"
    other = "module __main__: global variable 'parts'[*] → storage: torch::StorageImpl"
    owners = (HISTORY, LiveOwner(item, 1_200_000_000, 20, is_part=True), LiveOwner(other, 900_000_000, 2))
    assert shown(120, owners=owners)[4:] == [
        "   1.29 GB  module __main__: global variable 'trainer'.history: list",
        "    900 MB  module __main__: global variable 'parts'[*]: Tensor, 2 objects",
    ]


@pytest.mark.parametrize(
    ("width", "texts"),
    [
        (120, [f"{HIDDEN}: list, 3 storages", f"{LOSS}: Tensor float32 [4096, 256], 2 storages"]),
        (
            86,
            [
                "hidden of Trainer.step, train.py:14: list, 3 storages",
                "loss of Trainer.step, train.py:14: Tensor float32 [4096, 256], 2 storages",
            ],
        ),
        (
            80,
            [
                "hidden of Trainer.step, train.py:14: list, 3 storages",
                "loss of Trainer.step, train.py:14, 2 storages",
            ],
        ),
        (60, ["hidden of Trainer.step, train.py:14, 3 storages", "loss of Trainer.step, train.py:14, 2 storages"]),
        (50, ["hidden of ..., train.py:14, 3 storages", "loss of Tr..., train.py:14, 2 storages"]),
    ],
)
def test_names_and_lines_stay_when_a_row_is_cut(width: int, texts: list[str]) -> None:
    rows = (held(f"{HIDDEN}: list", 2_000, 3), held(f"{LOSS}: Tensor float32 [4096, 256]", 1_000, 2))
    assert [line[12:] for line in shown(width, held=rows)[-2:]] == texts


def test_storages_on_a_device_are_the_first_that_grew_and_small_kinds_are_left_out() -> None:
    rows = (
        Growth("dict", 9, 5_000),
        Growth("torch::StorageImpl", 2, 3_000),
        Growth(STORAGES, 1, 10),
        Growth("set", 1, 49),
    )
    assert shown(120, growth=rows)[3:] == [
        "Grown most since gradlife.on_oom()",
        "      10 B  storages of tensors on cuda:0, 1 more",
        "      5 kB  dict, 9 more",
        "      3 kB  storages of tensors, 2 more",
    ]
    assert shown(120, in_full=True, growth=rows)[-1] == "      49 B  set, 1 more"


@pytest.mark.parametrize(
    ("cause", "short"),
    [
        ("MemoryError", "MemoryError"),
        (
            "RuntimeError: [enforce fail] err == 0. can't allocate memory: you tried to allocate 450 bytes. Error code 12",
            "RuntimeError: [enforce fail] err == 0. can't allocate memory: you tried to allocate 450 bytes",
        ),
        (
            "MemoryError: Unable to allocate 7.45 GiB for an array with shape (9,)",
            "MemoryError: Unable to allocate 7.45 GiB for an array with shape (9,)",
        ),
        ("91% of the memory limit is taken", "91% of the memory limit is taken"),
        ("RuntimeError: out of memory\n" + "at " * 99, f"RuntimeError: out of memory {'at ' * 56}a..."),
    ],
)
def test_a_message_is_cut_after_the_sentence_with_a_size(cause: str, short: str) -> None:
    assert headline(cause) == short
