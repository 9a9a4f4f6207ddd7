"""Timings, printed beside PyTorch's in the same run."""
