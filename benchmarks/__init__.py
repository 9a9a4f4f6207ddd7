"""Benchmarks, most of them beside PyTorch or peers in the same run."""
