"""The statement that puts a survivor where it stays, found in the sources of the program."""
