"""Reports: model values in, text for people or machines out. Only this package and `gradlife.cli` use rich."""

import random

_state = random.getstate()
import rich.style  # noqa: E402, F401  # its import draws a random number, which would change the program's own

random.setstate(_state)
