"""Changes of the source that end a leak and leave what the program computes."""
