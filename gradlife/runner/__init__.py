"""Run scenarios in systems, each in its own child process, and compare the readings."""
