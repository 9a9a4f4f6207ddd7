"""Follow a service that keeps one answer in a hundred for some minutes, beside a twin without gradlife.

``python -m benchmarks.attach.soak --minutes 30``
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.attach.load import Clients, service

EVERY = "20s"


def main() -> int:
    """Run the soak test, and print findings and costs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between two requests")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        socket, findings = f"{folder}/door", Path(folder, "leaks.jsonl")
        with service(100, socket) as followed, service(100) as twin:
            clients = [Clients(one.port, 1, args.pause) for one in (followed, twin)]
            time.sleep(5)
            before = (followed.resident, twin.resident)
            command = [sys.executable, "-m", "gradlife", "attach", "--socket", socket, "--follow", "--every", EVERY]
            command += ["--findings", str(findings), "--step-on", "__main__:answer"]
            start, found, most = time.monotonic(), 0.0, 0
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as watcher:
                while time.monotonic() - start < 60 * args.minutes:
                    time.sleep(1)
                    after = (followed.resident - before[0], twin.resident - before[1])
                    most = max(most, after[0] - after[1])
                    if not found and findings.exists() and findings.read_text():
                        found = time.monotonic() - start
                        print(f"found after {found:.0f} s", flush=True)
                watcher.terminate()
            for one in clients:
                one.stop()
        for line in findings.read_text().splitlines():
            one = json.loads(line)
            stored = one["stored_at"] or {}
            print(f"{one['code']} {one['title']}: {stored.get('source')} ({one['arrivals']})")
    print(f"after {args.minutes:g} minutes: {after[0] / 1e6:.1f} MB more, its twin {after[1] / 1e6:.1f} MB;", end=" ")
    print(f"the watching took {(after[0] - after[1]) / 1e6:.1f} MB, at most {most / 1e6:.1f} MB")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
