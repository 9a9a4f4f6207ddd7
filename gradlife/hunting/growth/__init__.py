"""Growth: survivors grouped by holder, and which groups grow in every round."""
