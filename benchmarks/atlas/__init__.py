"""The releases of the lab's recordings: built, recorded and removed one at a time."""
