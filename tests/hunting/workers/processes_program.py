"""A process that handles requests: `processes_program.py METHOD leaks|clean`.

METHOD is one of multiprocessing, `subprocess`, or `terminated`, by which a process is ended in the midst of its work.
"""

import multiprocessing
import subprocess
import sys
import time
from multiprocessing.synchronize import Event

kept: list[bytearray] = []


def handle(leaks: bool) -> None:
    time.sleep(0.004)
    found = bytearray(2000)
    if leaks:
        kept.append(found)


def work(leaks: bool) -> None:
    for _ in range(400):
        handle(leaks)


def work_on(enough: Event) -> None:
    work(leaks=True)
    enough.set()
    while True:
        handle(leaks=True)


def terminate() -> None:
    context = multiprocessing.get_context("fork")
    enough = context.Event()
    process = context.Process(target=work_on, args=(enough,), daemon=True)
    process.start()
    enough.wait()
    process.terminate()
    process.join()
    print(process.exitcode)


def main(method: str, what: str) -> None:
    if method == "child":
        work(what == "leaks")
    elif method == "subprocess":
        subprocess.run([sys.executable, __file__, "child", what], check=True)
    elif method == "terminated":
        terminate()
    else:
        multiprocessing.set_start_method(method)
        process = multiprocessing.Process(target=work, args=(what == "leaks",))
        process.start()
        process.join()
        print(process.exitcode, "run" in vars(process))


if __name__ == "__main__":
    main(*sys.argv[1:])
