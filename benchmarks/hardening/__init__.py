"""What the engine must survive: memory that runs out, threads, an interpreter that ends, other interpreters and tools."""
