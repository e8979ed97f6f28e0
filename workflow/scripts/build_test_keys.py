"""List what corpora are searched for: crepebench.waves.build_test_keys."""

from crepebench.job import start_log
from crepebench.waves import build_test_keys

if __name__ == "__main__":
    start_log(snakemake)
    build_test_keys(
        graphs_path=snakemake.input.graphs,
        keys_path=snakemake.output.test_keys,
    )
