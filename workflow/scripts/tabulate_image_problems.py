"""List the images that cannot be used: crepebench.image_checks.tabulate_image_problems."""

from crepebench.image_checks import tabulate_image_problems
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_image_problems(
        check_paths=list(snakemake.input.checks),
        problems_path=snakemake.output.problems,
    )
