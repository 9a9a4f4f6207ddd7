"""``torch.nn``, as far as the engine has it."""

from gradlife.engine.nn.parameter import Parameter

__all__ = ["Parameter"]
