"""The report of a device's memory in the terminal."""
