"""The report of a peak in the terminal."""
