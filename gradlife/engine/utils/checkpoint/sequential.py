"""Split a sequence of functions into checkpointed segments."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from gradlife.engine.nn.modules.container import Sequential
from gradlife.engine.utils.checkpoint.reentrant import take_preserve


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run ``functions`` in order in ``segments`` checkpoints; the last segment is recorded as usual."""
    from gradlife.engine.utils.checkpoint import checkpoint

    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version "
            "2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need "
            "to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
            "differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = take_preserve(kwargs)
    steps = list(functions.children()) if isinstance(functions, Sequential) else functions
    size = len(steps) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        segment = _run(steps, start, end)
        input = checkpoint(segment, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _run(steps, end, len(steps))(input)


def _run(steps: Any, start: int, end: int) -> Callable[[Any], Any]:
    """Return a segment as one function. It keeps all steps, as in PyTorch, not only its own, and takes them when called."""

    def forward(input: Any) -> Any:
        for place in range(start, end):
            input = steps[place](input)
        return input

    return forward
