"""C++ objects are counted at the moment of a snapshot, also in a service that takes steps while the snapshot is written."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: A hunt whose steps each leave one C++ object behind, which are counted slowly. In a process of its own, since each
#: snapshot reads all of it. Prints how many snapshots had a count, and how many steps passed before it, at most.
PROGRAM = """\
import sys, time
from gradlife.hunting.process.malloc_usage import Malloc
from gradlife.hunting.session import method
from gradlife.hunting.snapshots.native_objects import FAMILIES, MIN_NATIVE_SNAPSHOTS, Counted, Unreached
from gradlife.hunting.steps.schedule import schedule_for

done = 0

def counted():
    now = done
    time.sleep(0.02)
    return Counted(dict.fromkeys(FAMILIES, now), 0)

def unreached(found, snapshot):
    late = {family: number - snapshot.steps for family, number in found.counts.items()}
    return Unreached(snapshot.steps, late, 0)

method.counted, method.unreached, method.grows = counted, unreached, lambda before, after: True
Malloc.keeps_changing = True
hunt = method.Hunt(schedule_for(None, is_endless=True), keeps_serving=sys.argv[1] == "True")
for count in hunt.plan():
    done += count
print(len(hunt.natives) == MIN_NATIVE_SNAPSHOTS, {number for one in hunt.natives for number in one.counts.values()})
hunt.close()
hunt.forget()
"""


@pytest.mark.parametrize("keeps_serving", [False, True])
def test_no_step_passes_between_a_snapshot_and_the_count_that_belongs_to_it(keeps_serving: bool) -> None:
    """Steps between them passed for objects that native code never released (GL803)."""
    command = [sys.executable, "-c", PROGRAM, str(keeps_serving)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True {0}\n"
