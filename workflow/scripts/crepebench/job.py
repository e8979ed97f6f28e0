"""The one module that knows Snakemake: it opens a rule's log for a script, and ends the script as a scheduler asks."""

import logging
import os
import signal
import sys
from pathlib import Path

logger = logging.getLogger("crepebench")


def start_log(snakemake) -> None:
    """Sends log records, standard error and uncaught exceptions of this process to the rule's log file.

    SIGTERM, which schedulers send at the time limit, ends the process as an exception would: partial files are removed.

    Args:
        snakemake: the object that Snakemake puts into a script.
    """
    path = Path(snakemake.log[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = path.open("w", encoding="utf-8", buffering=1)
    handler = _LogHandler(stream, os.dup(sys.stderr.fileno()))
    os.dup2(stream.fileno(), sys.stderr.fileno())  # libraries in C and subprocesses write there, too
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=logging.INFO, handlers=[handler], format=form)
    logging.captureWarnings(True)

    def log_exception(kind, error, traceback):
        logger.critical("%s", str(error) or kind.__name__, exc_info=(kind, error, traceback))

    sys.excepthook = log_exception
    signal.signal(signal.SIGTERM, _end)


class _LogHandler(logging.StreamHandler):
    """Writes records to the log, and those that it cannot hold (the disk is full) to the terminal.

    Args:
        stream: the log.
        terminal: descriptor of what was standard error.
    """

    def __init__(self, stream, terminal: int):
        super().__init__(stream)
        self._terminal = terminal

    def handleError(self, record: logging.LogRecord) -> None:
        text = f"{self.stream.name} cannot be written ({sys.exc_info()[1]}); it should say:\n{self.format(record)}\n"
        os.write(self._terminal, text.encode(errors="replace"))


def _end(number: int, _) -> None:
    """Ends the process by an exception."""
    logger.critical("ended by %s: the time limit of a scheduler, or cancelled", signal.Signals(number).name)
    sys.exit(128 + number)
