"""Where PyTorch's C++ objects keep their fields: found out once per process on specimens, then read without asking PyTorch."""
