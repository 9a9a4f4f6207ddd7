"""One hunt from warm-up to report."""
