"""Other Python interpreters: their versions and frameworks, and virtual environments for old releases."""
