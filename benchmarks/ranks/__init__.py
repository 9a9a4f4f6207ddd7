"""What it costs to hunt in several processes: merging their reports, and looking at the same step."""
