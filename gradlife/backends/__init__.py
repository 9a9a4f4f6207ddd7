"""The systems that can run a scenario: the mini engine under a profile, the real PyTorch, a fake for tests."""
