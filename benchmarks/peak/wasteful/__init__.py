"""Steps that hold what they do not use, by the mechanisms of public changes that let it go."""
