"""The ten releases that the lab's recordings are of: built one at a time, recorded, and removed again."""
