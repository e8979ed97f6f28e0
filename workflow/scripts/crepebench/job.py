"""The one module that knows Snakemake: it opens a rule's log for a script."""

import logging
import os
import sys
from pathlib import Path


def start_log(snakemake) -> None:
    """Sends log records, standard error and uncaught exceptions of this process to the rule's log file.

    Args:
        snakemake: the object that Snakemake puts into a script.
    """
    path = Path(snakemake.log[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = path.open("w", encoding="utf-8", buffering=1)
    os.dup2(stream.fileno(), sys.stderr.fileno())  # libraries in C and subprocesses write there, too
    logging.basicConfig(level=logging.INFO, stream=stream, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.captureWarnings(True)

    def log_exception(kind, error, traceback):
        logging.getLogger("crepebench").critical("%s", error, exc_info=(kind, error, traceback))

    sys.excepthook = log_exception
