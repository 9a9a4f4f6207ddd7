"""The stories of `scenarios/peak`: the recorder, torch's own account of storages and the engine agree byte for byte."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gradlife import engine
from gradlife.peaks.recording.torch import Contexts, Recorder
from gradlife.runner.worker.story_file import load_file
from gradlife.scenario import Scenario

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

FOLDER = Path(__file__).parents[2] / "scenarios" / "peak"


class CountingLab:
    """A lab that notes bytes at each stage, and nothing else."""

    def __init__(self, fw: Any, account: Callable[[], Any]) -> None:
        self.fw = fw
        self._account = account
        self.noted: list[tuple[str, Any]] = []

    def tensor(self, n: int, requires_grad: bool = False) -> Any:
        made = self.fw.ones(n)
        return made.requires_grad_() if requires_grad else made

    def watch(self, name: str, obj: object) -> None:
        """No subject is watched."""

    def bytes_alive(self, name: str) -> None:
        """The bytes of one subject are not told."""

    def stage(self, name: str, all_names_gone: bool = False) -> None:
        self.noted.append((name, self._account()))


def stories() -> Sequence[Scenario]:
    return [story for file in sorted(FOLDER.glob("*.py")) for story in load_file(str(file))]


def recorded_bytes(story: Scenario) -> list[tuple[str, int]]:
    """Live bytes of what the story makes, at each stage: by the recorder, which torch's account must equal."""
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils._python_dispatch import TorchDispatchMode

    made: dict[int, tuple[Any, int]] = {}

    class Account(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            for one in result if isinstance(result, (list, tuple)) else [result]:
                if isinstance(one, torch.Tensor):
                    storage = one.untyped_storage()
                    made.setdefault(storage._cdata, (StorageWeakRef(storage), storage.nbytes()))
            return result

    recorder = Recorder(Contexts(), lambda: None)

    def account() -> tuple[int, int]:
        found = recorder.so_far()
        recorded = sum(one.bytes_at(found.end) for one in found.storages if one.birth is not None)
        return recorded, sum(nbytes for ref, nbytes in made.values() if not ref.expired())

    lab = CountingLab(torch, account)
    recorder.start()
    try:
        with Account():
            story.function(lab)  # type: ignore[arg-type]
    finally:
        recorder.stop()
    assert [both for both in lab.noted if both[1][0] != both[1][1]] == []
    return [(stage, recorded) for stage, (recorded, _) in lab.noted]


def engine_bytes(story: Scenario) -> list[tuple[str, int]]:
    gc.collect()
    before = engine.live_bytes()
    lab = CountingLab(engine, lambda: engine.live_bytes() - before)
    story.function(lab)  # type: ignore[arg-type]
    return lab.noted


@pytest.mark.whole
@pytest.mark.parametrize("story", stories(), ids=lambda story: story.name)
def test_recorder_torch_and_engine_count_the_same_bytes_at_every_stage(story: Scenario) -> None:
    assert recorded_bytes(story) == engine_bytes(story)


def test_there_is_a_story_and_a_repaired_one_for_each_mechanism() -> None:
    assert [(one.name, one.fixed_of.name if one.fixed_of else "") for one in stories()] == [
        ("generator_holds_its_batch", ""),
        ("generator_without_a_name", "generator_holds_its_batch"),
        ("error_through_the_next_step", ""),
        ("error_without_a_traceback", "error_through_the_next_step"),
        ("late_zero_grad", ""),
        ("early_zero_grad", "late_zero_grad"),
        ("gradients_filled_with_zeros", ""),
        ("gradients_set_to_none", "gradients_filled_with_zeros"),
        ("output_of_the_last_step", ""),
        ("output_deleted", "output_of_the_last_step"),
        ("loop_variables", ""),
        ("loop_in_a_function", "loop_variables"),
        ("saved_and_not_unpacked", ""),
        ("saved_as_needed", "saved_and_not_unpacked"),
    ]
