"""Values of a peak report, and their JSON."""
