"""The heap between steps: snapshots, what survived, what it weighs, where it was created."""
