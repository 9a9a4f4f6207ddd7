"""Functions of ``torch`` itself that are written in Python: those of ``nn.functional`` that have a second home there."""

from gradlife.engine.nn.functional import (
    celu,
    celu_,
    cosine_similarity,
    pairwise_distance,
    prelu,
    selu,
    selu_,
    threshold,
    threshold_,
)

__all__ = [
    "celu",
    "celu_",
    "cosine_similarity",
    "pairwise_distance",
    "prelu",
    "selu",
    "selu_",
    "threshold",
    "threshold_",
]
