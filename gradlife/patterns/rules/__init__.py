"""The catalogue of leak patterns, one row each."""
