"""Running a hunt: in this process, or in a child that its parent watches; proofs by patch or by cutting a reference."""
