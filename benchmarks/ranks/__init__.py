"""The cost of a hunt in several processes: merging the reports, and snapshots in the same step."""
