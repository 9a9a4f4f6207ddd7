"""The hunted process and its surroundings: forked copies, memory limits, malloc's figures, imports, settings."""
