"""``torch.utils``, as far as the engine has it."""

from gradlife.engine.utils import hooks

__all__ = ["hooks"]
