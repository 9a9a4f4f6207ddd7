"""``torch.autograd.grad_mode``: where PyTorch keeps the blocks that switch recording."""

from gradlife.engine.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]
