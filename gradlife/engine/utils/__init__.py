"""``torch.utils``, as far as the engine has it."""

from gradlife.engine import hooks

__all__ = ["hooks"]
