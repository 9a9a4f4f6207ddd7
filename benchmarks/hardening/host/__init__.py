"""Programs that run the same bare and under gradlife: what they print, write, count and leave."""
