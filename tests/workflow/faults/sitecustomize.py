"""Python loads this at its start where the folder is on PYTHONPATH: jobs then fail while they write chosen files.

CREPE_FAULTS has a line `<moment> <fault> <part of the path>` for each. The moment is `begun` (the partial file is about
to be made) or `whole` (all its bytes are written, but it has not got its name yet). The fault is `kill` (as the system
does where memory runs out), `memory` (an allocation fails), or `wait` (the job hangs until the file CREPE_RELEASE is
there).
"""

import os
import resource
import signal
import sys
import time

FAULTS = [line.split(maxsplit=2) for line in os.environ.get("CREPE_FAULTS", "").splitlines()]
LIMIT = 1 << 20
MORE_THAN_THE_LIMIT = 1 << 32


def look(event: str, arguments: tuple) -> None:
    """Looks at each file that is opened, and fails at the chosen ones."""
    if event != "open" or not isinstance(arguments[0], str) or ".partial" not in arguments[0]:
        return
    path, _, flags = arguments
    moment = "begun" if flags & os.O_CREAT else "whole"
    for chosen, fault, part in FAULTS:
        if chosen == moment and part in path:
            fail(fault)


def fail(fault: str) -> None:
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "memory":
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
        bytearray(MORE_THAN_THE_LIMIT)
    while fault == "wait" and not os.path.exists(os.environ["CREPE_RELEASE"]):
        time.sleep(0.05)


if FAULTS:
    sys.addaudithook(look)
