"""The report of a device's memory, as people read it."""
