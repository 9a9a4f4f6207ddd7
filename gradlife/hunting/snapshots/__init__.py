"""The heap between steps: snapshots, survivors, their weight, and where they were created."""
