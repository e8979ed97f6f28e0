rule build_word_pool:
    """Collect the words that foils may take, and the senses that annotators gave them."""
    input:
        graphs=get_unfiltered_graphs(),
        objects="results/visual_genome/objects.parquet",
        relationships="results/visual_genome/relationships.parquet",
    output:
        pool="results/foils/word_pool.json",
    log:
        "results/logs/build_word_pool/build_word_pool.log",
    benchmark:
        "results/benchmarks/build_word_pool/build_word_pool.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=config_json("foils", "min_pool_count"),
        code=code_digest("build_word_pool.py"),
    message:
        "Collecting the words of foils"
    script:
        "../scripts/build_word_pool.py"


rule build_foils:
    """Build the truths of the systematicity sets of one part of the images, and more foils than they need."""
    input:
        regions="results/regions/regions.parquet",
        graphs="results/graphs/regions.parquet",
        unfiltered=get_unfiltered_graphs(),
        objects="results/visual_genome/objects.parquet",
        relationships="results/visual_genome/relationships.parquet",
        descriptions="results/visual_genome/region_descriptions.parquet",
        pool="results/foils/word_pool.json",
        tables=get_foil_tables(),
        wordnet="results/wordnet",
    output:
        candidates="results/foils/systematicity/{part}.parquet",
    log:
        "results/logs/build_foils/{part}.log",
    benchmark:
        "results/benchmarks/build_foils/{part}.tsv"
    wildcard_constraints:
        part="part-[0-9]{5}-of-[0-9]{5}",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.foils_settings(config)),
        code=code_digest("build_foils.py"),
    message:
        "Building foils, {wildcards.part}"
    script:
        "../scripts/build_foils.py"


rule score_foils:
    """Score truths and foils of one part with a language model (foils.plausibility: masked, causal)."""
    input:
        candidates="results/foils/{family}/{part}.parquet",
        language_model=get_language_model_files("foils"),
    output:
        scores="results/foils/{family}/scores/{part}.parquet",
        shards="results/foils/{family}/scores/{part}.shards.json",
    log:
        "results/logs/score_foils/{family}_{part}.log",
    benchmark:
        "results/benchmarks/score_foils/{family}_{part}.tsv"
    wildcard_constraints:
        part="part-[0-9]{5}-of-[0-9]{5}",
    conda:
        "../../environment.yml"
    resources:
        gpu=1,
        mem_mb=scaled(8000),
        runtime=scaled(480),
    params:
        cfg=to_json(settings.plausibility_settings(config)),
        code=code_digest("score_foils.py"),
    message:
        "Scoring {wildcards.family} foils, {wildcards.part}"
    script:
        "../scripts/score_foils.py"


rule filter_foils:
    """Choose the foils of all parts; protocol refined: those with which text alone cannot tell truth from foil."""
    input:
        candidates=get_foil_parts("results/foils/{family}"),
        scores=get_foil_scores("results/foils/{family}/scores"),
        entailment=get_entailment,
        exclusions=config["foils"]["exclusions"],
    output:
        choices="results/foils/{family}/choices.parquet",
        exclusions="results/foils/{family}/exclusions.csv",
    log:
        "results/logs/filter_foils/{family}.log",
    benchmark:
        "results/benchmarks/filter_foils/{family}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(16000),
    params:
        cfg=get_settings(settings.filter_settings, "family"),
        code=code_digest("filter_foils.py"),
    message:
        "Choosing {wildcards.family} foils"
    script:
        "../scripts/filter_foils.py"
