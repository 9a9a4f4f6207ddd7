"""Recording the storages of a few steps: births, uses, deaths, and their holders at the peak."""
