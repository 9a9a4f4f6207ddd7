"""Reports: values of the model in, text for people or machines out. rich is used here and in `gradlife.cli`, nowhere else."""

import random

_state = random.getstate()
import rich.style  # noqa: E402, F401  # draws a number as it is imported, which the program that is looked at would miss

random.setstate(_state)
