rule parse_corpus:
    """Parse one shard of a training corpus and count its atoms and compounds."""
    input:
        captions=get_corpus_files,
    output:
        vocabulary="results/vocabularies/shards/{corpus}/part-{part}-of-{n_parts}.parquet",
        accounting="results/vocabularies/shards/{corpus}/part-{part}-of-{n_parts}.accounting.csv",
    log:
        "results/logs/parse_corpus/{corpus}_part-{part}-of-{n_parts}.log",
    benchmark:
        "results/benchmarks/parse_corpus/{corpus}_part-{part}-of-{n_parts}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(4000),
        runtime=scaled(240),
    params:
        cfg=get_settings(settings.corpus_settings, "corpus"),
        code=code_digest("parse_corpus.py"),
    message:
        "Parsing {wildcards.corpus}, shard {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/parse_corpus.py"


rule build_vocabulary:
    """Add up the vocabularies of all shards of a corpus."""
    input:
        shards=get_vocabulary_shards,
        accounting=get_vocabulary_accounting,
        record="results/corpora/{corpus}.json",
    output:
        vocabulary="results/vocabularies/{corpus}.parquet",
    log:
        "results/logs/build_vocabulary/{corpus}.log",
    benchmark:
        "results/benchmarks/build_vocabulary/{corpus}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        code=code_digest("build_vocabulary.py"),
    message:
        "Merging the vocabulary of {wildcards.corpus}"
    script:
        "../scripts/build_vocabulary.py"
