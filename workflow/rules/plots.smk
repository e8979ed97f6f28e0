rule plot_systematicity:
    """Draw R@1 on seen and unseen compounds, by model and foil type."""
    input:
        table="results/tables/systematicity.csv",
    output:
        plot=report(
            "results/plots/systematicity.png",
            caption="../report/systematicity.rst",
            category=REPORT_RESULTS,
            labels={"content": "plot: recall at 1 by split"},
        ),
    log:
        "results/logs/plot_systematicity/plot_systematicity.log",
    benchmark:
        "results/benchmarks/plot_systematicity/plot_systematicity.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("plot_systematicity.py"),
    message:
        "Drawing the systematicity plot"
    script:
        "../scripts/plot_systematicity.py"


rule plot_systematicity_gap:
    """Draw the gap between unseen and seen compounds, by model and foil type."""
    input:
        table="results/tables/systematicity_gap.csv",
    output:
        plot=report(
            "results/plots/systematicity_gap.png",
            caption="../report/systematicity_gap.rst",
            category=REPORT_RESULTS,
            labels={"content": "plot: gap between unseen and seen"},
        ),
    log:
        "results/logs/plot_systematicity_gap/plot_systematicity_gap.log",
    benchmark:
        "results/benchmarks/plot_systematicity_gap/plot_systematicity_gap.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("plot_systematicity_gap.py"),
    message:
        "Drawing the gaps"
    script:
        "../scripts/plot_systematicity_gap.py"


rule plot_accounting:
    """Draw what every stage kept and dropped, by reason."""
    input:
        table="results/tables/accounting.csv",
    output:
        plot=report(
            "results/plots/accounting.png",
            caption="../report/accounting.rst",
            category=REPORT_DROPS,
            labels={"content": "plot: kept and dropped by stage"},
        ),
    log:
        "results/logs/plot_accounting/plot_accounting.log",
    benchmark:
        "results/benchmarks/plot_accounting/plot_accounting.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("plot_accounting.py"),
    message:
        "Drawing what was dropped"
    script:
        "../scripts/plot_accounting.py"


rule plot_productivity:
    """Draw R@1 against the number of atoms, by model and foil type."""
    input:
        table="results/tables/productivity.csv",
    output:
        plot=report(
            "results/plots/productivity.png",
            caption="../report/productivity.rst",
            category=REPORT_RESULTS,
            labels={"content": "plot: recall at 1 by number of atoms"},
        ),
    log:
        "results/logs/plot_productivity/plot_productivity.log",
    benchmark:
        "results/benchmarks/plot_productivity/plot_productivity.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("plot_productivity.py"),
    message:
        "Drawing the productivity plot"
    script:
        "../scripts/plot_productivity.py"


rule plot_contact_sheet:
    """Draw some retrieval sets: crop, true caption and foils; those of one number of atoms, or of any."""
    input:
        sets=get_retrieval_sets("{family}"),
        images="results/visual_genome/images.parquet",
        places=get_found_image_places(),
    output:
        sheet=report(
            "results/plots/contact_sheet_{family}{complexity}.png",
            caption="../report/contact_sheet.rst",
            category=REPORT_SETS,
            labels={"content": "contact sheet: {family}{complexity}"},
        ),
    log:
        "results/logs/plot_contact_sheet/{family}{complexity}.log",
    benchmark:
        "results/benchmarks/plot_contact_sheet/{family}{complexity}.tsv"
    wildcard_constraints:
        complexity="(_n[0-9]+)?",
    conda:
        "../../environment.yml"
    params:
        cfg=config_json("plots", "contact_sheet_sets", "seed"),
        code=code_digest("plot_contact_sheet.py"),
    message:
        "Drawing a sheet of {wildcards.family} sets"
    script:
        "../scripts/plot_contact_sheet.py"
