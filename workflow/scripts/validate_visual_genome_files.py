"""Compare files with the manifest: crepebench.downloads.validate_files."""

from crepebench.downloads import validate_files
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    validate_files(
        manifest_path=snakemake.input.manifest,
        file_paths=list(snakemake.input.files),
        index_path=snakemake.output.index,
    )
