"""Running the user's program: in a child that its parent watches, or in this process; a hunt and a peak are two methods."""
