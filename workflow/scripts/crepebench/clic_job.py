"""One process of a CLIC training on several GPUs, as `torchrun` starts it: `python -m crepebench.clic_job FILE`.

FILE is JSON with the arguments of `crepebench.clic_runs.train_in_process`.
"""

import json
import logging
import os
import sys
from pathlib import Path

from crepebench.clic_runs import train_in_process


def main(path: str) -> None:
    """Trains with the arguments of a file; only the first process logs what is no warning."""
    level = logging.INFO if os.environ.get("RANK", "0") == "0" else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    train_in_process(**json.loads(Path(path).read_text(encoding="utf-8")))


if __name__ == "__main__":
    main(sys.argv[1])
