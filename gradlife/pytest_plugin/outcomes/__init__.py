"""The outcome of a check: results, baseline, messages, summary, annotations."""
