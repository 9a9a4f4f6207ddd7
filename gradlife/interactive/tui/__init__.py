"""A snapshot file in the terminal, to be gone through with keys and mouse. Needs Textual: `pip install 'gradlife[hunt]'`."""
