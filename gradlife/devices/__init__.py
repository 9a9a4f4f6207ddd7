"""The memory of devices: what a caching allocator holds, and who owns it."""
