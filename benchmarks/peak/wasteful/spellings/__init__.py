"""Programs with waste that differ in how a statement is written."""
