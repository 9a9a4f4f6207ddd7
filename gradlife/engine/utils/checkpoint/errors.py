"""Error messages for recomputation that differs from the forward."""

from __future__ import annotations

from typing import Any

TIP = """.

Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\u2011debug mode globally.
"""

MORE_SAVED = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass"
    + TIP
)

UNPACKED_TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
    "once. If you are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue "
    "with details on your use case."
)


class CheckpointError(RuntimeError):
    """Recomputation did not save what the forward had saved."""


class StopRecomputation(Exception):
    """Raised to stop a recomputation once all tensors that the forward saved exist again."""


def count_differs(saved: int, recomputed: int) -> str:
    """Return the text for a recomputation that ended before everything was saved."""
    return (
        "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
        f"Number of tensors saved during forward: {saved}\nNumber of tensors saved during recomputation: {recomputed}"
        + TIP
    )


def metadata_differs(differences: list[tuple[int, Any, Any]]) -> str:
    """Return the text for recomputed tensors of another shape or dtype: their indices and both metadata."""
    rows = "".join(
        f"tensor at position {place}:\nsaved metadata: {saved}\nrecomputed metadata: {found}\n"
        for place, saved, found in differences
    )
    return (
        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
        f"pass.\n{rows}" + TIP
    )
