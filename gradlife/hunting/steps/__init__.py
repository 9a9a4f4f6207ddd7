"""Targets to hunt in, kinds of steps, and the number of steps in each round."""
