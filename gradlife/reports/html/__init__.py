"""Reports as single HTML files that need no network, no font and no other file."""
