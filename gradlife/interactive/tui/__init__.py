"""A terminal application for a snapshot file, with keys and mouse. Needs Textual: `pip install 'gradlife[hunt]'`."""
