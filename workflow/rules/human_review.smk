rule tabulate_human_review:
    """Write what people found on the review page, and what they would leave out; runs only if it is named."""
    input:
        answers=get_review_answers,
        sample="results/review/sample.json",
        checks=RESOURCES / "published" / "checks.csv",
    output:
        table="results/tables/human_review.csv",
        disagreements="results/review/disagreements.csv",
        exclusions="results/review/exclusions.csv",
    log:
        "results/logs/tabulate_human_review/tabulate_human_review.log",
    benchmark:
        "results/benchmarks/tabulate_human_review/tabulate_human_review.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("tabulate_human_review.py"),
    message:
        "Tabulating what people found"
    script:
        "../scripts/tabulate_human_review.py"
