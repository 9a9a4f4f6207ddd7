"""The second system in another interpreter: an old release of PyTorch needs an old Python."""
