rule tabulate_systematicity:
    """Write recalls by split, their gaps, and pairwise accuracy by foil kind."""
    input:
        sets=get_retrieval_sets("systematicity"),
        scores=expand(
            "results/scores/{model}/systematicity.parquet",
            model=MODELS_OF["systematicity"],
        ),
        splits=expand(
            "results/splits/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
        blind="results/audit/systematicity.csv",
    output:
        table="results/tables/systematicity.csv",
        gap="results/tables/systematicity_gap.csv",
        gap_seeds="results/tables/systematicity_gap_seeds.csv",
        by_kind="results/tables/systematicity_by_kind.csv",
    log:
        "results/logs/tabulate_systematicity/tabulate_systematicity.log",
    benchmark:
        "results/benchmarks/tabulate_systematicity/tabulate_systematicity.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.tables_settings(config)),
        code=code_digest("tabulate_systematicity.py"),
    message:
        "Writing the systematicity tables"
    script:
        "../scripts/tabulate_systematicity.py"


rule tabulate_productivity:
    """Write recalls by number of atoms, and pairwise accuracy by foil kind."""
    input:
        sets=get_retrieval_sets("productivity"),
        scores=expand(
            "results/scores/{model}/productivity.parquet",
            model=MODELS_OF["productivity"],
        ),
        blind="results/audit/productivity.csv",
    output:
        table="results/tables/productivity.csv",
        by_kind="results/tables/productivity_by_kind.csv",
    log:
        "results/logs/tabulate_productivity/tabulate_productivity.log",
    benchmark:
        "results/benchmarks/tabulate_productivity/tabulate_productivity.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.productivity_tables_settings(config)),
        code=code_digest("tabulate_productivity.py"),
    message:
        "Writing the productivity tables"
    script:
        "../scripts/tabulate_productivity.py"


rule tabulate_accounting:
    """Join the counts of all stages, and check that they add up."""
    input:
        accounting=get_accounting_files(),
    output:
        table="results/tables/accounting.csv",
    log:
        "results/logs/tabulate_accounting/tabulate_accounting.log",
    benchmark:
        "results/benchmarks/tabulate_accounting/tabulate_accounting.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("tabulate_accounting.py"),
    message:
        "Adding up what every stage kept and dropped"
    script:
        "../scripts/tabulate_accounting.py"


rule write_table_formats:
    """Write a table in Markdown, in LaTeX, and as a page that explains its columns."""
    input:
        table="results/tables/{table}.csv",
        manual=BASE / "docs" / "tables.md",
    output:
        markdown="results/tables/{table}.md",
        latex="results/tables/{table}.tex",
        page=report(
            "results/report/{table}.html",
            caption="../report/table.rst",
            category=get_report_category,
            labels={"content": "table: {table}"},
        ),
    log:
        "results/logs/write_table_formats/{table}.log",
    benchmark:
        "results/benchmarks/write_table_formats/{table}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("write_table_formats.py"),
    message:
        "Writing {wildcards.table} in Markdown, LaTeX and HTML"
    script:
        "../scripts/write_table_formats.py"
