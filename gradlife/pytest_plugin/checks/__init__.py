"""The checks around a test: survivors, growth over runs, identity."""
