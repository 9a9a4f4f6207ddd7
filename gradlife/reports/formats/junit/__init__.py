"""JUnit XML."""
