"""The debug mode of checkpoints: an error that lists where the saved tensors of forward and recomputation differ."""

from __future__ import annotations

import traceback
from typing import NoReturn

from gradlife.engine.tensors import Tensor
from gradlife.engine.utils.checkpoint.errors import CheckpointError

_HERE = __file__.rpartition("debugging.py")[0]


class Trail:
    """Text about each tensor that one run saved, in order. Keeps no tensor."""

    def __init__(self) -> None:
        self.saved: list[str] = []
        self.places: list[str] = []

    def add(self, tensor: Tensor) -> None:
        """Record a tensor that is being saved."""
        self.saved.append(f"$ {tensor.dtype}{list(tensor.shape)}")
        frames = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(_HERE)]
        self.places.append("".join(f"{frame.filename}:{frame.lineno}:{frame.name}\n" for frame in reversed(frames)))

    def text(self, run: str) -> str:
        """Return each tensor with the stack of its saving."""
        count = len(self.saved)
        rows = zip(self.saved, self.places, strict=True)
        return "\n".join(f"{saved}   ({i} of {count} in {run})\n\n{place}" for i, (saved, place) in enumerate(rows, 1))


class Trails:
    """The trails of a checkpoint's forward and of its recomputation."""

    def __init__(self) -> None:
        self.forward = Trail()
        self.recomputed = Trail()

    def explain(self, error: CheckpointError) -> NoReturn:
        """Raise the error with both trails in its text."""
        forward, again = self.forward, self.recomputed
        raise CheckpointError(
            "An error happened while unpacking tensors; dumping logs of latest computation\nbecause you passed "
            "`debug=True` to `torch.utils.checkpoint.checkpoint()`.\n\n"
            f"1. Where the original forward saved tensors\n\n{forward.text('original')}\n"
            f"2. Where the recomputation saved tensors\n\n{again.text('recompute')}\n"
            "3. Tensors saved during the original forward:\n\n" + "\n".join(forward.saved) + "\n\n"
            "   Tensors saved during recomputation:\n\n" + "\n".join(again.saved) + "\n\n"
            "ERROR: Detected non-determinism while running activation checkpointing\n\n"
            "You are seeing this error because you passed `debug=True` to checkpoint and\n"
            "the tensors saved during the original forward differ from those saved during\n"
            "recomputation: compare the two lists, and look up the stacks where they part."
        ) from error
