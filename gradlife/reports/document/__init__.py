"""A report as a document: blocks that each format renders."""
