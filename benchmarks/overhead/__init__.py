"""The cost of watching a training loop: CPU for each step, and memory."""
