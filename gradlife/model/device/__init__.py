"""Values of a device memory report, and their JSON."""
