"""The settings of the plugin: its options and its marker."""
