"""The hunted process and its environment: forked copies, memory limits, malloc's counters, imports, settings."""
