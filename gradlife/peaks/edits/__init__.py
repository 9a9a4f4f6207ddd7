"""The edit that releases memory nobody reads again: as text, and as changed lines if that is safe."""
