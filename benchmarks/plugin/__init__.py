"""What the pytest plugin costs a suite."""
