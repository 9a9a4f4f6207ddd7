"""The report of a peak, as people read it."""
