rule build_captions:
    """Write captions of the subgraphs of one part of the images: by template, or by a language model."""
    input:
        subgraphs="results/subgraphs/subgraphs.parquet",
        tables=get_foil_tables(),
        prompts=get_prompt_files(),
        wordnet="results/wordnet",
        language_model=get_captioner_files(),
    output:
        captions="results/captions/part-{part}-of-{n_parts}.parquet",
        accounting="results/captions/part-{part}-of-{n_parts}.accounting.csv",
    log:
        "results/logs/build_captions/part-{part}-of-{n_parts}.log",
    benchmark:
        "results/benchmarks/build_captions/part-{part}-of-{n_parts}.tsv"
    conda:
        "../../environment.yml"
    resources:
        gpu=int(config["captioner"]["backend"] == "transformers"),
        mem_mb=8000,
    params:
        cfg=to_json(settings.captions_settings(config)),
        code=code_digest("build_captions.py"),
    message:
        "Writing captions, part {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/build_captions.py"
