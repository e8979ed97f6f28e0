rule build_wordnet:
    """Prepare a complete WordNet folder from what is installed, else download or install it."""
    output:
        wordnet=directory("results/wordnet"),
    log:
        "results/logs/build_wordnet/build_wordnet.log",
    benchmark:
        "results/benchmarks/build_wordnet/build_wordnet.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=config_json("wordnet"),
        code=code_digest("build_wordnet.py"),
    message:
        "Preparing WordNet (if it is missing: downloads it or, as root on Debian, installs wordnet-base)"
    script:
        "../scripts/build_wordnet.py"
