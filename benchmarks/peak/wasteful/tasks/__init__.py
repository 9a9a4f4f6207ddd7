"""Programs that waste memory in the way of a task: reinforcement learning, several heads, validation, generation."""
