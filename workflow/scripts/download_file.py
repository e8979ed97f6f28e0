"""Fetch a file of the manifest: crepebench.downloads.download_entry."""

from crepebench.downloads import download_entry
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    download_entry(manifest_path=snakemake.input.manifest[0], target_path=snakemake.output.file)
