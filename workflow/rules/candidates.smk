rule build_test_keys:
    """List the atoms and compounds of the test regions: what a corpus is searched for."""
    input:
        graphs="results/graphs/regions.parquet",
    output:
        test_keys="results/candidates/test_keys.parquet",
    log:
        "results/logs/build_test_keys/test_keys.log",
    benchmark:
        "results/benchmarks/build_test_keys/test_keys.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        code=code_digest("build_test_keys.py"),
    message:
        "Listing what corpora are searched for"
    script:
        "../scripts/build_test_keys.py"


rule build_first_wave:
    """List what is not known yet of a corpus."""
    input:
        test_keys="results/candidates/test_keys.parquet",
        record="results/corpora/{corpus}.json",
    output:
        wave="results/candidates/waves/{corpus}/1.parquet",
    log:
        "results/logs/build_first_wave/{corpus}.log",
    benchmark:
        "results/benchmarks/build_first_wave/{corpus}.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=get_wave_settings,
        code=code_digest("build_first_wave.py"),
    message:
        "Listing what is not known of {wildcards.corpus}"
    script:
        "../scripts/build_first_wave.py"


rule parse_candidates:
    """Parse those captions of a shard that could hold what the wave looks for."""
    input:
        captions=get_corpus_files,
        wave=get_wave,
        draws=get_draws,
    output:
        found="results/candidates/found/{corpus}/part-{part}-of-{n_parts}.parquet",
        accounting="results/candidates/found/{corpus}/part-{part}-of-{n_parts}.accounting.csv",
    log:
        "results/logs/parse_candidates/{corpus}_part-{part}-of-{n_parts}.log",
    benchmark:
        "results/benchmarks/parse_candidates/{corpus}_part-{part}-of-{n_parts}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(4000),
        runtime=scaled(240),
    params:
        cfg=get_settings(settings.candidates_settings, "corpus"),
        code=code_digest("parse_candidates.py"),
    message:
        "Searching {wildcards.corpus}, shard {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/parse_candidates.py"


rule build_next_wave:
    """List what is not known yet of a corpus after a wave of shards."""
    input:
        wave=get_wave_before,
        found=get_found_before,
    output:
        wave="results/candidates/waves/{corpus}/{wave}.parquet",
    log:
        "results/logs/build_next_wave/{corpus}_{wave}.log",
    benchmark:
        "results/benchmarks/build_next_wave/{corpus}_{wave}.tsv"
    wildcard_constraints:
        wave="[2-9]|[1-9][0-9]+",
    conda:
        "../../environment.yml"
    params:
        cfg=config_json("splits", "min_count"),
        code=code_digest("build_next_wave.py"),
    message:
        "Listing what is not known of {wildcards.corpus} before wave {wildcards.wave}"
    script:
        "../scripts/build_next_wave.py"


rule build_candidate_counts:
    """Count the candidates of a shard for what the last wave looks for."""
    input:
        captions=get_corpus_files,
        wave=get_wave,
    output:
        counts="results/candidates/counts/{corpus}/part-{part}-of-{n_parts}.parquet",
    log:
        "results/logs/build_candidate_counts/{corpus}_part-{part}-of-{n_parts}.log",
    benchmark:
        "results/benchmarks/build_candidate_counts/{corpus}_part-{part}-of-{n_parts}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(4000),
    params:
        cfg=get_settings(settings.candidates_settings, "corpus"),
        code=code_digest("build_candidate_counts.py"),
    message:
        "Counting candidates of {wildcards.corpus}, shard {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/build_candidate_counts.py"


rule build_draws:
    """Draw the candidates that are parsed, at most so many for each atom and compound."""
    input:
        counts=get_candidate_counts,
    output:
        draws="results/candidates/draws/{corpus}.parquet",
    log:
        "results/logs/build_draws/{corpus}.log",
    benchmark:
        "results/benchmarks/build_draws/{corpus}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=config_json("vocabularies", "budget", "seed"),
        code=code_digest("build_draws.py"),
    message:
        "Drawing the candidates of {wildcards.corpus}"
    script:
        "../scripts/build_draws.py"


rule build_candidate_vocabulary:
    """Say of everything in the test regions whether a corpus shows it."""
    input:
        wave=get_last_wave,
        found=get_found_last,
        draws=get_draws_of_corpus,
        accounting=get_found_accounting,
    output:
        vocabulary="results/candidates/{corpus}.parquet",
    log:
        "results/logs/build_candidate_vocabulary/{corpus}.log",
    benchmark:
        "results/benchmarks/build_candidate_vocabulary/{corpus}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=get_wave_settings,
        code=code_digest("build_candidate_vocabulary.py"),
    message:
        "Deciding what {wildcards.corpus} shows"
    script:
        "../scripts/build_candidate_vocabulary.py"
