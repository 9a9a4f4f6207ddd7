"""What watching a training loop costs: CPU for each step, and memory."""
