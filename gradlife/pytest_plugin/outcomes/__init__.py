"""What becomes of a check: results, baseline, messages, summary, annotations."""
