"""``torch.cuda`` without GPUs, for programs that check first."""

from __future__ import annotations


def is_available() -> bool:
    """Return whether there are GPUs: never here."""
    return False


def is_initialized() -> bool:
    """Return whether a GPU is in use: never here."""
    return False
