"""``torch.cuda`` where there is none: programs that ask first go on without."""

from __future__ import annotations

__all__ = ["device_count", "is_available", "is_initialized"]


def is_available() -> bool:
    """Whether there are GPUs: never here."""
    return False


def is_initialized() -> bool:
    """Whether a GPU is in use: never here."""
    return False


def device_count() -> int:
    """How many GPUs there are."""
    return 0
