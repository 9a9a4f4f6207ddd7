"""Values of a report on the memory of devices, and their JSON."""
