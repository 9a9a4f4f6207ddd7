"""Offsets of fields in PyTorch's C++ objects: found once per process on specimens, then read without calling PyTorch."""
