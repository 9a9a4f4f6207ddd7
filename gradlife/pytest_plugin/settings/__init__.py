"""What the plugin was asked for: its options and its marker."""
