"""Steps: what to hunt in, what counts as one step, and how many steps make a round."""
