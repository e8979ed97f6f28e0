IS_GENERATED = config["captioner"]["backend"] == "transformers"


rule build_captions:
    """Write captions of the subgraphs of one part of the images: by template, or by a language model."""
    input:
        subgraphs="results/subgraphs/subgraphs.parquet",
        tables=get_foil_tables(),
        prompts=get_prompt_files(),
        wordnet="results/wordnet",
        language_model=get_captioner_files(),
    output:
        captions="results/captions/{part}.parquet",
        accounting="results/captions/{part}.accounting.csv",
    log:
        "results/logs/build_captions/{part}.log",
    benchmark:
        "results/benchmarks/build_captions/{part}.tsv"
    wildcard_constraints:
        part="part-[0-9]{5}-of-[0-9]{5}",
    conda:
        "../../environment.yml"
    resources:
        gpu=int(IS_GENERATED),
        mem_mb=scaled(40000 if IS_GENERATED else 8000),
        runtime=scaled(720 if IS_GENERATED else 60),
    params:
        cfg=to_json(settings.captions_settings(config)),
        code=code_digest("build_captions.py"),
    message:
        "Writing captions, {wildcards.part}"
    script:
        "../scripts/build_captions.py"
