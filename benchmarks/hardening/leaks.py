"""Judge the sanitizers' reports of each process of `make asan`: python -m benchmarks.hardening.leaks FOLDER.

Only leaks allocated by the engine or the heap walk count: what CPython and its libraries never free is theirs. Exit
status 0 if there is nothing else.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

#: What LeakSanitizer says if the process is killed while it is looked at.
KILLED = re.compile(r"Can't open /proc/\d+/task for reading")
OURS = re.compile(r"/(_engine|_heap)\.|/csrc/")  # with source names if available
MAX_FRAMES = 25


def main() -> int:
    reports = [path.read_text(errors="replace") for path in Path(sys.argv[1]).iterdir()]
    killed = [report for report in reports if KILLED.search(report) and "ERROR: " not in report]
    errors = [one for one in reports if one not in killed and "ERROR: LeakSanitizer: detected memory leaks" not in one]
    found = Counter(leak for report in reports for leak in leaks(report))
    print(*errors, sep="\n")
    for leak, times in found.most_common():
        print(f"{leak}\n    {times} times\n")
    if killed:
        print(f"{len(killed)} processes were killed while LeakSanitizer looked at them")
    print(f"{len(reports)} processes with a report, {len(errors)} errors, {len(found)} different leaks of gradlife")
    return 1 if found or errors else 0


def leaks(report: str) -> Iterator[str]:
    """Return one process's leaks through our libraries, without addresses, which differ."""
    for block in report.split("\n\n"):
        if block.lstrip().startswith("Direct leak of") and OURS.search(block):
            lines = [re.sub(r"0x[0-9a-f]+ ", "", line) for line in block.strip().splitlines()]
            yield "\n".join(lines[: MAX_FRAMES + 1])


if __name__ == "__main__":
    sys.exit(main())
