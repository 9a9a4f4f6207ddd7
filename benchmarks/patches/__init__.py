"""How often a hunt finds the statement that stores, and how often its patch ends the leak."""
