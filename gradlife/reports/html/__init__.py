"""Reports as one HTML file each, which needs nothing beside itself: no network, no font, no other file."""
