rule plot_systematicity:
    """Draw R@1 on seen and unseen compounds, by model and foil type."""
    input:
        table="results/tables/systematicity.csv",
    output:
        plot="results/plots/systematicity.png",
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


rule plot_contact_sheet:
    """Draw some retrieval sets: crop, true caption and foils."""
    input:
        sets=get_retrieval_sets("systematicity"),
        images="results/visual_genome/images.parquet",
        archives=get_image_zips(),
    output:
        sheet="results/plots/contact_sheet_systematicity.png",
    log:
        "results/logs/plot_contact_sheet/plot_contact_sheet.log",
    benchmark:
        "results/benchmarks/plot_contact_sheet/plot_contact_sheet.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=config_json("plots"),
        code=code_digest("plot_contact_sheet.py"),
    message:
        "Drawing a sheet of retrieval sets"
    script:
        "../scripts/plot_contact_sheet.py"
