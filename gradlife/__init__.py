"""gradlife: what keeps this object alive, and should it?

Importing this package costs little: torch, rich and the compiled engine are loaded only where
they are used. Like everything the child worker imports, it stays in the Python 3.7 subset.
"""

from gradlife._version import __version__
from gradlife.errors import GradlifeError, UsageError

__all__ = ["GradlifeError", "UsageError", "__version__"]
