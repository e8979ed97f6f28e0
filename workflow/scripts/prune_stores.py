"""Remove what is not in use from the stores, and print what was done: crepebench.stores.prune_stores."""

from crepebench.job import start_log
from crepebench.stores import prune_stores

if __name__ == "__main__":
    start_log(snakemake)
    print(prune_stores(cfg=snakemake.params.cfg))
