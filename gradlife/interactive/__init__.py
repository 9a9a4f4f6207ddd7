"""An interactive session: in a snapshot file, or inside a program stopped at its first leak."""
