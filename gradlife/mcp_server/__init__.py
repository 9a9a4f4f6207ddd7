"""A server of the Model Context Protocol: coding assistants ask what leaks, and get the line and the change."""
