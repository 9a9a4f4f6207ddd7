"""Source changes that end a leak and do not change what the program computes."""
