"""GitHub annotations."""
