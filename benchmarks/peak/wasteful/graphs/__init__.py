"""Programs with waste that graphs hold."""
