"""``torch.utils``, as far as the engine has it."""

from gradlife.engine.utils import checkpoint, hooks, weak

__all__ = ["checkpoint", "hooks", "weak"]
