"""Programs whose peak has memory that no recorded step reads: with `KEEPS = False` they do not hold it."""
