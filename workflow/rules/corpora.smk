rule validate_corpus:
    """Record what the files of a corpus are, compare them with its manifest if it has one, and name the corpus by them."""
    input:
        files=get_corpus_files,
        manifest=get_corpus_manifest,
    output:
        record="results/corpora/{corpus}.json",
    log:
        "results/logs/validate_corpus/{corpus}.log",
    benchmark:
        "results/benchmarks/validate_corpus/{corpus}.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=get_settings(settings.corpus_record_settings, "corpus"),
        stamps=get_corpus_stamps,
        code=code_digest("validate_corpus.py"),
    message:
        "Hashing the files of {wildcards.corpus}"
    script:
        "../scripts/validate_corpus.py"
