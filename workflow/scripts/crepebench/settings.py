"""Read the config: checks that a schema cannot express, and what each kind of job depends on.

The functions named `*_settings` choose from the config what one kind of job depends on; their result is the rule's
`cfg=` param, so a rule re-runs if and only if something in it changes.
"""

from collections.abc import Mapping
from os.path import normpath

from crepebench.families import PRODUCTIVITY, SYSTEMATICITY
from crepebench.model_definitions import (
    ICONS,
    WEIGHT_KEYS,
    check_model,
    encoding_of,
    models_of,
    read_definition,
    read_models,
    used_models,
)
from crepebench.zero_shot_sets import SETS as ZERO_SHOT_SETS

NOT_OF_READING = ("source", "version", "download", "image_parts")
"""Keys of the block `visual_genome` that choose files or jobs, and nothing in them."""


def visual_genome_settings(config: Mapping) -> dict:
    """Returns what reading Visual Genome depends on; the icons world has no image that is known to be bad."""
    block = {key: value for key, value in config["visual_genome"].items() if key not in NOT_OF_READING}
    return {**block, "exclude_images": []} if config["visual_genome"]["source"] == ICONS else block


def parser_settings(config: Mapping) -> dict:
    """Returns what parsing depends on, of regions and corpora alike."""
    return {**config["parser"], **config["atoms"]}


READING = ("format", "caption", "subset")
"""Keys of a corpus's definition that choose what is read in its files."""


def reading_settings(config: Mapping, corpus: str) -> dict:
    """Returns the keys of a corpus's definition that choose what is read in its files."""
    definition = read_definition(config, "corpora", corpus)
    return {key: definition[key] for key in READING if key in definition}


def corpus_settings(config: Mapping, corpus: str) -> dict:
    """Returns what parsing a corpus depends on."""
    return {"definition": reading_settings(config, corpus), **parser_settings(config)}


def corpus_record_settings(config: Mapping, corpus: str) -> dict:
    """Returns what the record of a corpus depends on; a subset counts by its content, which is a file of the corpus."""
    definition = read_definition(config, "corpora", corpus)
    reading = {key: value for key, value in reading_settings(config, corpus).items() if key != "subset"}
    return {"source": definition["source"], "release": definition.get("release"), "reading": reading}


def candidates_settings(config: Mapping, corpus: str) -> dict:
    """Returns what searching a shard of a corpus depends on."""
    settings = {**corpus_settings(config, corpus), "min_count": config["splits"]["min_count"]}
    return {**settings, "seed": config["vocabularies"]["seed"]} if is_budget(config) else settings


def is_budget(config: Mapping) -> bool:
    """Says whether what a corpus shows is decided from a sample."""
    return config["vocabularies"]["mode"] == "budget"


def waves_settings(config: Mapping, corpus: str, code: str) -> dict:
    """Returns what deciding a corpus depends on.

    Args:
        config: the whole config.
        corpus: name of the corpus.
        code: digest of the code that searches a shard.
    """
    searched, vocabularies = candidates_settings(config, corpus), config["vocabularies"]
    mode = {"mode": vocabularies["mode"]}
    if is_budget(config):  # a sample depends on what it is drawn from
        mode |= {"shards": config["corpora"]["shards"], **{key: vocabularies[key] for key in ("budget", "waves")}}
    return {
        "min_count": searched["min_count"],
        "store": config["stores"]["vocabularies"],
        "identity": {**searched, **mode, "code": code},
    }


def features_settings(config: Mapping, model: str) -> dict:
    """Returns what encoding with a model depends on."""
    return {**config["features"], "store": config["stores"]["features"], "model": encoding_of(config, model)}


def scores_settings(config: Mapping, model: str) -> dict:
    """Returns what scoring with a model depends on, beside its features: a model may score pairs in its own way."""
    return {"model": encoding_of(config, model)}


def weights_settings(config: Mapping, model: str) -> dict:
    """Returns what fetching a model's weights depends on."""
    definition = read_models(config)[model]
    source = {key: definition[key] for key in WEIGHT_KEYS if key in definition}
    return {"store": config["stores"]["weights"], "model": source}


def foils_settings(config: Mapping) -> dict:
    """Returns what truths and foils depend on."""
    keys = ("protocol", "seed", "candidates")
    return {**{key: config["foils"][key] for key in keys}, "max_queries": config["systematicity"]["max_queries"]}


def filter_settings(config: Mapping, family: str) -> dict:
    """Returns what the choice of a family's foils depends on."""
    chosen = {key: config["foils"][key] for key in ("protocol", "seed", "plausibility", "max_lost")}
    if family == SYSTEMATICITY:
        return chosen
    return {
        **chosen,
        "n_foils": config["productivity"]["n_foils"],
        "threshold": config["entailment"]["threshold"] if config["entailment"]["backend"] == "nli" else None,
    }


SAMPLING = ("complexities", "seed", "tries", "max_per_image", "max_overlap", "attribute_share", "n_foils")
"""Keys of the block `productivity` that the subgraphs of an image depend on."""


def subgraphs_settings(config: Mapping) -> dict:
    """Returns what the subgraphs of an image depend on."""
    chosen = {key: config["productivity"][key] for key in SAMPLING}
    return {"productivity": chosen, "regions": config["regions"]}


def draw_settings(config: Mapping) -> dict:
    """Returns what the draw of subgraphs depends on: the seed, and how many of each complexity there may be."""
    block = config["productivity"]
    most, complexities = block["max_queries"], block["complexities"]
    most = most if isinstance(most, list) else [most] * len(complexities)
    by_complexity = {str(complexity): number for complexity, number in zip(complexities, most, strict=True)}
    return {"seed": block["seed"], "max_queries": by_complexity}


ANSWER_KEYS = "uniform model revision temperature max_tokens seed attempts on_failure constrained".split()
CAPTIONER_KEYS = {
    "template": [],
    "openai": [
        *ANSWER_KEYS,
        *"base_url api_key_variable concurrency timeout max_total_tokens max_cost price_per_million_tokens".split(),
    ],
    "transformers": [*ANSWER_KEYS, "batch_size"],
}
"""Keys of the block `captioner` that each backend reads."""


def captions_settings(config: Mapping) -> dict:
    """Returns what captions depend on: of the block `captioner`, only what its backend reads."""
    captioner = config["captioner"]
    backend = captioner["backend"]
    store = {} if backend == "template" else {"store": config["stores"]["captions"]}
    return {"backend": backend, **{key: captioner[key] for key in CAPTIONER_KEYS[backend]}, **store}


def productivity_foils_settings(config: Mapping) -> dict:
    """Returns what the foils of captions depend on."""
    foils = {key: config["foils"][key] for key in ("protocol", "seed", "candidates")}
    return {**foils, "n_foils": config["productivity"]["n_foils"]}


def entailment_settings(config: Mapping) -> dict:
    """Returns what the probabilities of entailment depend on; the threshold is the choice's."""
    return {"model": config["entailment"]["model"], "store": config["stores"]["language_model"]}


def plausibility_settings(config: Mapping) -> dict:
    """Returns what the likelihoods of foils depend on."""
    chosen = {key: config["foils"][key] for key in ("plausibility", "language_model")}
    return {**chosen, "store": config["stores"]["language_model"]}


def tables_settings(config: Mapping) -> dict:
    """Returns what the tables depend on."""
    models = read_models(config)
    evaluation = {key: config["evaluation"][key] for key in ("n_resamples", "seed", "cross_corpus")}
    return {
        "evaluation": {**evaluation, "matched": config["splits"]["matched"]},
        "corpora": config["corpora"]["use"],
        "models": [(name, models[name]) for name in models_of(config, SYSTEMATICITY)],
    }


def productivity_tables_settings(config: Mapping) -> dict:
    """Returns what the tables of the productivity family depend on."""
    models = read_models(config)
    evaluation = {key: config["evaluation"][key] for key in ("n_resamples", "seed")}
    return {"evaluation": evaluation, "models": [(name, models[name]) for name in models_of(config, PRODUCTIVITY)]}


def raw_retrieval_settings(config: Mapping) -> dict:
    """Returns what raw_retrieval.csv depends on."""
    settings = tables_settings(config)
    return {
        "evaluation": {**settings["evaluation"], "raw_pool": config["evaluation"]["raw_pool"]},
        "corpora": settings["corpora"],
        "models": {
            SYSTEMATICITY: settings["models"],
            PRODUCTIVITY: productivity_tables_settings(config)["models"],
        },
    }


def model_comparison_settings(config: Mapping) -> dict:
    """Returns what the comparison of two models depends on, beside their scores."""
    evaluation = {key: config["evaluation"][key] for key in ("n_resamples", "seed")}
    return {"evaluation": evaluation, "corpora": config["corpora"]["use"]}


def audit_settings(config: Mapping, family: str) -> dict:
    """Returns what the audit of a family depends on."""
    evaluation = {key: config["evaluation"][key] for key in ("n_resamples", "seed")}
    settings = {"audit": config["audit"], "evaluation": evaluation}
    return {**settings, "corpora": config["corpora"]["use"]} if family == SYSTEMATICITY else settings


def parser_quality_settings(config: Mapping) -> dict:
    """Returns what the figures of the parser depend on, beside the labelled captions."""
    evaluation = {key: config["evaluation"][key] for key in ("n_resamples", "seed")}
    return {"parser": parser_settings(config), "evaluation": evaluation}


def parser_review_settings(config: Mapping) -> dict:
    """Returns what the sheet for checking the parser depends on, beside the corpora's files."""
    definitions = {corpus: reading_settings(config, corpus) for corpus in config["corpora"]["use"]}
    sample = {key: config["parser_review"][key] for key in ("n_captions", "seed")}
    return {"parser": parser_settings(config), "definitions": definitions, **sample}


def review_page_settings(config: Mapping) -> dict:
    """Returns what the review page depends on, beside its tables: how the sample is drawn, and how corpora are read."""
    settings = {**config["review"], "protocol": config["foils"]["protocol"]}
    del settings["answers"]
    if is_released(config):
        return {**settings, "protocol": "paper"}
    definitions = {corpus: reading_settings(config, corpus) for corpus in config["corpora"]["use"]}
    return {**settings, "parser": parser_settings(config), "definitions": definitions}


def gallery_settings(config: Mapping) -> dict:
    """Returns what the gallery depends on, beside sets, scores and pictures."""
    models = {family: models_of(config, family) for family in (SYSTEMATICITY, PRODUCTIVITY)}
    made_from = {name: definition.get("backbone") for name, definition in read_models(config).items()}
    pairs = [[made_from[name], name] for name in used_models(config) if made_from[name] in used_models(config)]
    return {"gallery": config["gallery"], "corpora": config["corpora"]["use"], "models": models, "pairs": pairs}


def used_benchmarks(config: Mapping) -> list[tuple[str, str]]:
    """Returns name and reader of each benchmark that the config uses."""
    names = config["benchmarks"]["use"]
    return [(name, read_definition(config, "benchmarks", name)["reader"]) for name in names]


def benchmark_settings(config: Mapping, benchmark: str, roots: Mapping) -> dict:
    """Returns what the items of a benchmark depend on, beside its files and pictures.

    Args:
        config: the whole config.
        benchmark: name of the benchmark.
        roots: folders and zips of pictures by name, as far as its reader asks for them.
    """
    definition = read_definition(config, "benchmarks", benchmark)
    policy = definition.get("missing_images", config["benchmarks"]["missing_images"])
    chosen = {"missing_images": policy, "roots": roots}
    return {**chosen, "reader": definition["reader"], "options": definition.get("options", {})}


def zero_shot_settings(config: Mapping, zero_shot_set: str) -> dict:
    """Returns what the pictures of a set of classification depend on, beside its folder."""
    chosen = config["benchmarks"]["zero_shot"][zero_shot_set]
    defaults = {"class_names": [], "n_images": None, "seed": 0}
    return {"set": zero_shot_set, **{key: chosen.get(key, default) for key, default in defaults.items()}}


def benchmarks_tables_settings(config: Mapping) -> dict:
    """Returns what benchmarks.csv depends on, beside results and figures."""
    models = read_models(config)
    return {
        "evaluation": {key: config["evaluation"][key] for key in ("n_resamples", "seed")},
        "benchmarks": used_benchmarks(config),
        "models": [(name, {"seen_images": models[name]["seen_images"]}) for name in used_models(config)],
    }


def check_benchmarks(config: Mapping) -> None:
    """Checks that every benchmark that the config uses is defined, and that the sets of classification are known.

    Raises:
        ValueError: one is not.
    """
    used_benchmarks(config)
    for name in config["benchmarks"]["zero_shot"]:
        if name not in ZERO_SHOT_SETS:
            raise ValueError(f"config: benchmarks.zero_shot: {name!r} is none of {', '.join(sorted(ZERO_SHOT_SETS))}")


def check_exclusions(config: Mapping) -> None:
    """Checks that no exclusion list is made from the very sets that it would change.

    Raises:
        ValueError: one lies where the review's rule writes it.
    """
    for path in config["foils"]["exclusions"]:
        if normpath(path) == "results/review/exclusions.csv":
            raise ValueError(
                f"foils.exclusions names {path}, which is made from the sets that it would change: copy it to a place "
                "of your own, and name the copy (docs/review.md)"
            )


def is_released(config: Mapping) -> bool:
    """Says whether the retrieval sets are those that CREPE's authors released."""
    return config["data"]["source"] == "crepe_release"


def released_name(config: Mapping, corpus: str) -> str:
    """Returns how the names of released files call a corpus: its own name, unless its definition says another."""
    return read_definition(config, "corpora", corpus).get("released_name", corpus)


def released_splits_settings(config: Mapping, corpus: str) -> dict:
    """Returns what the splits by a corpus depend on, beside the released files."""
    return {"name": released_name(config, corpus)}


def released_tables_settings(config: Mapping) -> dict:
    """Returns what the table of the released sets depends on."""
    settings = tables_settings(config)
    of_productivity = productivity_tables_settings(config)["models"]
    return {**settings, "models": {SYSTEMATICITY: settings["models"], PRODUCTIVITY: of_productivity}}


def crepe_csv_settings(config: Mapping) -> dict:
    """Returns what exports depend on, beside the sets: names of the corpora in the config, and in names of files."""
    return {"corpora": [(corpus, released_name(config, corpus)) for corpus in config["corpora"]["use"]]}


def card_settings(config: Mapping) -> dict:
    """Returns what the card of an exported data set says of how the sets were made."""
    captioner, foils = config["captioner"], config["foils"]
    source, version = (config["visual_genome"][key] for key in ("source", "version"))
    made = {"data": config["data"]["source"], "source": source if source == ICONS else f"Visual Genome {version}"}
    if is_released(config):
        return {**crepe_csv_settings(config), **made, "protocol": "released", "captioner": "as released"}
    named = [str(captioner[key]) for key in ("model", "revision") if captioner[key]]
    return {
        **crepe_csv_settings(config),
        **made,
        "protocol": foils["protocol"],
        "captioner": captioner["backend"] if captioner["backend"] == "template" else " ".join(named),
        "plausibility": foils["plausibility"],
        "seeds": f"foils {foils['seed']}, productivity {config['productivity']['seed']}",
    }


def own_captions_settings(config: Mapping) -> dict:
    """Returns what the sets of the user's own captions depend on, beside the table."""
    chosen = {key: config["foils"][key] for key in ("protocol", "seed", "min_pool_count")}
    return {**chosen, "parser": parser_settings(config)}


def thinning_settings(config: Mapping) -> dict:
    """Returns what the gap for thinned vocabularies depends on."""
    return {**tables_settings(config), "splits": config["splits"], "thinning": config["thinning"]}


DESCRIBING = ("family", "architecture", "weights", "precision", "parameters", "training_pairs", "training_data")
"""Keys of a model's definition that say which model it is, and what is known of it."""


def correlation_settings(config: Mapping) -> dict:
    """Returns what the correlations with published facts of models depend on."""
    models = read_models(config)
    chosen = [(name, models[name]) for name in used_models(config)]
    return {"models": [(name, {key: row[key] for key in DESCRIBING if key in row}) for name, row in chosen]}


def comparison_settings(config: Mapping) -> dict:
    """Returns what the comparison with published figures depends on: the models, and what may differ in the sets."""
    method = {
        "is_released": is_released(config),
        "is_image_sample": config["visual_genome"]["sample"] is not None,
    }
    return {**correlation_settings(config), "method": method}


def check_names(config: Mapping) -> None:
    """Checks that every corpus and model that the config uses is defined, and that bounds are in order.

    Raises:
        ValueError: says which key names what is missing.
    """
    for name in config["corpora"]["use"]:
        read_definition(config, "corpora", name)
    read_models(config)
    for name in [*config["models"]["use"], *config["negation"]["models"], *config["clic"]["models"]]:
        check_model(config, name)
    if not models_of(config, SYSTEMATICITY):
        raise ValueError(
            "config: models.use: no model would enter a table of systematicity, since the training_data of none names "
            f"one of corpora.use {sorted(config['corpora']['use'])}; name one that was trained on it, or set "
            "evaluation.cross_corpus: true"
        )
    if is_released(config) and not config["data"]["folder"]:
        raise ValueError("config: data.source 'crepe_release' needs a data.folder")
    waves = config["vocabularies"]["waves"]
    if waves != sorted(waves) or waves[-1] != 1:
        raise ValueError(f"config: vocabularies.waves {waves} does not ascend to 1")
    foils = config["foils"]
    if foils["plausibility"] in ("masked", "causal") and not foils["language_model"]:
        raise ValueError(f"config: foils.plausibility {foils['plausibility']!r} needs a foils.language_model")
    most, complexities = (config["productivity"][key] for key in ("max_queries", "complexities"))
    if isinstance(most, list) and len(most) != len(complexities):
        raise ValueError(
            f"config: productivity.max_queries has {len(most)} numbers for {len(complexities)} complexities"
        )
    if config["productivity"]["n_foils"] > foils["candidates"]:
        raise ValueError("config: productivity.n_foils is greater than foils.candidates")
    _check_captioner(config["captioner"])
    if config["entailment"]["backend"] == "nli" and not config["entailment"]["model"]:
        raise ValueError("config: entailment.backend 'nli' needs an entailment.model")
    if config["regions"]["min_aspect"] > config["regions"]["max_aspect"]:
        raise ValueError("config: regions.min_aspect is greater than regions.max_aspect")


def _check_captioner(captioner: Mapping) -> None:
    """Checks that the backend has what it needs."""
    needed = {"template": (), "openai": ("model", "base_url"), "transformers": ("model",)}[captioner["backend"]]
    for key in needed:
        if not captioner[key]:
            raise ValueError(f"config: captioner.backend {captioner['backend']!r} needs a captioner.{key}")
    if captioner["constrained"] and captioner["backend"] != "transformers":
        raise ValueError("config: captioner.constrained needs the captioner.backend 'transformers'")
