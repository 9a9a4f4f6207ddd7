"""Other Python interpreters and their frameworks, and virtual environments for old releases."""
