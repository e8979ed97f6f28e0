"""Where the vocabularies of corpora come from: every caption, or waves of candidates."""

from crepebench import waves

IS_EXHAUSTIVE = config["vocabularies"]["mode"] == "exhaustive"
IS_BUDGET = settings.is_budget(config)
WAVES = waves.wave_parts(config["corpora"]["shards"], config["vocabularies"]["waves"])


def get_shards(folder, parts, suffix):
    """Paths of some shards' files."""
    names = get_parts(config["corpora"]["shards"])
    return [f"{folder}/{names[part]}{suffix}" for part in parts]


def get_vocabulary(wildcards):
    """Vocabulary of a corpus, in the configured mode."""
    folder = "vocabularies" if IS_EXHAUSTIVE else "candidates"
    return f"results/{folder}/{wildcards.corpus}.parquet"


def get_corpus_accounting(corpus):
    """Counts of all shards of a corpus, in the configured mode."""
    folder = "vocabularies/shards" if IS_EXHAUSTIVE else "candidates/found"
    parts = range(config["corpora"]["shards"])
    return get_shards(f"results/{folder}/{corpus}", parts, ".accounting.csv")


def get_vocabulary_shards(wildcards):
    """Vocabularies of all shards of a corpus."""
    folder = f"results/vocabularies/shards/{wildcards.corpus}"
    return get_shards(folder, range(config["corpora"]["shards"]), ".parquet")


def get_vocabulary_accounting(wildcards):
    """Counts of all shards of a corpus that is parsed whole."""
    return [
        path.replace(".parquet", ".accounting.csv")
        for path in get_vocabulary_shards(wildcards)
    ]


def get_wave_file(corpus, index):
    """Table of a wave, by its index from 0."""
    return f"results/candidates/waves/{corpus}/{index + 1}.parquet"


def get_found(corpus, index):
    """What the shards of a wave have found."""
    return get_shards(f"results/candidates/found/{corpus}", WAVES[index], ".parquet")


def get_wave(wildcards):
    """Table of the wave that reads a shard."""
    index = next(i for i, parts in enumerate(WAVES) if int(wildcards.part) in parts)
    return get_wave_file(wildcards.corpus, index)


def get_wave_before(wildcards):
    """Table of the wave before a wave."""
    return get_wave_file(wildcards.corpus, int(wildcards.wave) - 2)


def get_found_before(wildcards):
    """What the shards of the wave before a wave have found."""
    return get_found(wildcards.corpus, int(wildcards.wave) - 2)


def get_last_wave(wildcards):
    """Table of the last wave."""
    return get_wave_file(wildcards.corpus, len(WAVES) - 1)


def get_found_last(wildcards):
    """What the shards of the last wave have found."""
    return get_found(wildcards.corpus, len(WAVES) - 1)


def get_found_accounting(wildcards):
    """Counts of all shards of a corpus that is searched."""
    folder = f"results/candidates/found/{wildcards.corpus}"
    return get_shards(folder, range(config["corpora"]["shards"]), ".accounting.csv")


def get_candidate_counts(wildcards):
    """Candidates of the shards of the last wave."""
    folder = f"results/candidates/counts/{wildcards.corpus}"
    return get_shards(folder, WAVES[-1], ".parquet")


def get_draws_of_corpus(wildcards):
    """Candidates to be parsed of the last wave; all, if there is no budget."""
    return [f"results/candidates/draws/{wildcards.corpus}.parquet"] if IS_BUDGET else []


def get_draws(wildcards):
    """Candidates to be parsed of a shard's wave; all, unless it is the last one and there is a budget."""
    is_last = int(wildcards.part) in WAVES[-1]
    return get_draws_of_corpus(wildcards) if is_last else []


def get_wave_settings(wildcards):
    """What deciding a corpus depends on, as JSON."""
    code = code_digest("parse_candidates.py")
    return to_json(settings.waves_settings(config, wildcards.corpus, code))
