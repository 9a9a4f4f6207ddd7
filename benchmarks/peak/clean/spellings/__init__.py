"""Programs without waste that differ in how a statement is written."""
