"""Reports as files: JSON, JUnit XML, SARIF, Markdown, GitHub annotations, Graphviz."""
