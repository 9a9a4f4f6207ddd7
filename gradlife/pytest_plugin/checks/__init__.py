"""What is measured around a test: survivors, growth over runs, identity."""
