"""``torch.utils``, as far as the engine has it."""

from gradlife.engine.utils import checkpoint, data, hooks, weak

__all__ = ["checkpoint", "data", "hooks", "weak"]
