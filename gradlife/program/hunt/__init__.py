"""A hunt as the method: of a program, a callable, a running process; proofs by patch or by cutting a reference."""
