"""The cost of the pytest plugin for a suite."""
