"""Read the config: definitions, checks that a schema cannot express, and what each kind of job depends on.

The functions named `*_settings` choose from the config what one kind of job depends on; their result is the rule's
`cfg=` param, so a rule re-runs if and only if something in it changes.
"""

import re
from collections.abc import Mapping
from os.path import isdir, isfile, join, normpath

from crepebench.clic_settings import CANDIDATES, METHOD, TEXT, VARIANTS, training_settings, variant_of
from crepebench.families import PRODUCTIVITY, SYSTEMATICITY
from crepebench.models import CONFIG_FILE
from crepebench.zero_shot_sets import SETS as ZERO_SHOT_SETS

HUB = "hf-hub:"
ICONS = "icons"
"""Source of what is made here, from the embedded icons world."""
TEXT_LAYERS = 4
"""Layers of the text encoder of a model that is trained here, unless its definition says it."""


def read_definition(config: Mapping, block: str, name: str) -> dict:
    """Returns the definition of a corpus, model or benchmark.

    Args:
        config: the whole config.
        block: "corpora", "models" or "benchmarks".
        name: name of the corpus, model or benchmark.

    Raises:
        ValueError: nothing of that name is defined.
    """
    definitions = config[block]["definitions"]
    if name not in definitions:
        raise ValueError(f"config: {block}.definitions has no {name!r}; it defines {sorted(definitions)}")
    return definitions[name]


ATTENDS = "valid"
"""Positions that PeakPatch's correction attends to: those up to the end of the text."""
CORRECTIONS = {
    **{"peakpatch": {"family": "peakpatch", "variant": "joint"}, "negvector": {"family": "negvector"}},
    **{
        f"peakpatch_{variant}": {"family": "peakpatch", "variant": variant}
        for variant in ("ecn", "scn", "no_anchor", "detached")
    },
}
"""What corrects a model, by the beginning of its name: `peakpatch:<name>` is the model <name> with PeakPatch."""
CLIC_PREFIX = re.compile(rf"{METHOD}(?:_(?P<variant>{'|'.join(VARIANTS)}))?(?:_seed(?P<seed>[0-9]+))?")
"""Beginning of the name of a tuned model: `clic:<name>`, with another variant than the method's `clic_within:<name>`,
with another seed than the first `clic_seed2:<name>`, `clic_within_seed2:<name>`."""
VARIANT_NAMES = {one["variant"]: name for name, one in CORRECTIONS.items() if "variant" in one}
CORRECTED = "corrected"
"""Source of a model that corrects another one."""


def read_model(config: Mapping, name: str) -> dict:
    """Returns the definition of a model, be it in the config, or a corrected or tuned one.

    The latter have `backbone`, the name of the model that they were made from, whose training data they share.

    Raises:
        ValueError: nothing of that name is defined.
    """
    correction, is_corrected, backbone = name.partition(":")
    if not is_corrected:
        return read_definition(config, "models", name)
    made = CORRECTIONS.get(correction) or _tuning(config, correction)
    if not made:
        known = [*sorted(CORRECTIONS), METHOD, *(f"{METHOD}_{variant}" for variant in VARIANTS if variant != METHOD)]
        raise ValueError(f"config: model {name!r}: {correction!r} is none of {', '.join(known)}")
    known = read_model(config, backbone)
    shared = {key: known[key] for key in ("training_data", "seen_images")}
    return {**made, "source": CORRECTED, "backbone": backbone, **shared}


def _tuning(config: Mapping, prefix: str) -> dict:
    """Returns what the beginning of a tuned model's name says; nothing, if it is of another kind."""
    found = CLIC_PREFIX.fullmatch(prefix)
    if not found:
        return {}
    variant = found["variant"] or METHOD
    seed = int(found["seed"]) if found["seed"] else config["clic"]["seeds"][0]
    return {"family": METHOD, "variant": variant, "tuning_seed": seed}


def shares_images(definition: Mapping) -> bool:
    """Says whether a corrected or tuned model has the features of images of the model that it was made from."""
    return definition["family"] != METHOD or VARIANTS[definition["variant"]].tower == TEXT


def model_names(config: Mapping, model: str) -> dict[str, int | None]:
    """Returns the names under which a model is measured, each with the seed of its training.

    A model that is trained here is trained once for each of `models.seeds`. With several seeds each training has a
    name of its own, `<model>_seed<seed>`; so has each that is corrected. Any other model has its own name, and no seed.
    """
    definition = read_model(config, model)
    if definition["source"] == CORRECTED:
        correction = model.partition(":")[0]
        return {f"{correction}:{name}": seed for name, seed in model_names(config, definition["backbone"]).items()}
    if definition["source"] != ICONS:
        return {model: None}
    seeds = config["models"]["seeds"]
    return {model: seeds[0]} if len(seeds) == 1 else {f"{model}_seed{seed}": seed for seed in seeds}


def read_models(config: Mapping) -> dict[str, dict]:
    """Returns the definition of every model by the name under which it is measured.

    Each holds, beside the keys of the config, `base` (its name in the config) and `seed`.

    Raises:
        ValueError: two models are measured under one name.
    """
    models: dict[str, dict] = {}
    named = [*config["models"]["use"], *negation_models(config), *clic_models(config)]
    for base in dict.fromkeys([*config["models"]["definitions"], *named]):
        definition = read_model(config, base)
        for name, seed in model_names(config, base).items():
            if name in models:
                raise ValueError(f"config: models.definitions: {base!r} and {models[name]['base']!r} are both {name!r}")
            models[name] = {**definition, "base": base, "seed": seed}
            if definition["source"] == CORRECTED:
                models[name]["backbone"] = name.partition(":")[2]
            if definition["source"] == ICONS:
                models[name].setdefault("text_layers", TEXT_LAYERS)
    return models


def negation_models(config: Mapping) -> list[str]:
    """Returns the models that negation.csv compares: each backbone, and all that corrects it."""
    block = config["negation"]
    corrections = ["negvector", *(VARIANT_NAMES[variant] for variant in block["variants"])]
    return [name for backbone in block["models"] for name in (backbone, *(f"{one}:{backbone}" for one in corrections))]


def clic_models(config: Mapping) -> list[str]:
    """Returns the models that clic.csv compares: each base, and its variants with every seed."""
    block = config["clic"]
    prefixes = [
        (METHOD if variant == METHOD else f"{METHOD}_{variant}") + ("" if seed == block["seeds"][0] else f"_seed{seed}")
        for variant in block["variants"]
        for seed in block["seeds"]
    ]
    return [name for base in block["models"] for name in (base, *(f"{prefix}:{base}" for prefix in prefixes))]


def used_models(config: Mapping) -> list[str]:
    """Returns the names under which the models of `models.use` are measured."""
    return [name for model in config["models"]["use"] for name in model_names(config, model)]


def models_of(config: Mapping, family: str) -> list[str]:
    """Returns the names of the models that a family measures.

    Productivity measures all of `models.use`. Systematicity measures those that were trained on a corpus of
    `corpora.use`, since its splits are of these; with `evaluation.cross_corpus` all.
    """
    names = used_models(config)
    if family != SYSTEMATICITY or config["evaluation"]["cross_corpus"]:
        return names
    models, corpora = read_models(config), set(config["corpora"]["use"])
    return [name for name in names if corpora & set(models[name]["training_data"])]


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


WEIGHT_KEYS = ("family", "architecture", "weights", "tokenizer")
"""Keys of a model's definition that choose its files."""
MODEL_KEYS = (*WEIGHT_KEYS, "image_size", "precision", "activation", "variant")
"""And those that its features depend on."""


def features_settings(config: Mapping, model: str) -> dict:
    """Returns what encoding with a model depends on."""
    return {**config["features"], "store": config["stores"]["features"], "model": encoding_of(config, model)}


def encoding_of(config: Mapping, model: str) -> dict:
    """Returns what of a model's definition its features depend on; of a corrected one with those of its backbone."""
    return _encoding(read_models(config), model)


def _encoding(models: Mapping[str, dict], model: str) -> dict:
    definition = models[model]
    encoding = {key: definition[key] for key in MODEL_KEYS if key in definition}
    if definition["source"] == CORRECTED:
        encoding["backbone"] = _encoding(models, definition["backbone"])
    return encoding


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
    return {"gallery": config["gallery"], "corpora": config["corpora"]["use"], "models": models}


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


def negation_data_settings(config: Mapping, source: Mapping) -> dict:
    """Returns what pairs and questions of negation depend on.

    Args:
        config: the whole config.
        source: where captions and images are, as `crepebench.captioned_images.read_captioned_images` takes it.
    """
    chosen = dict(config["negation"]["data"])
    for key in ("source", "corpus", "files", "images", "generator"):
        del chosen[key]
    is_worded = config["negation"]["data"]["generator"] == "captioner"
    generator = {**captions_settings(config), "concurrency": config["captioner"]["concurrency"]} if is_worded else None
    spacy_model = config["parser"]["spacy_model"]
    return {**chosen, "source": source, "use": "train", "parser": spacy_model, "generator": generator or "template"}


def negation_test_settings(config: Mapping) -> dict:
    """Returns what the test of negation depends on; the shares of forms are those of the data."""
    data = config["negation"]["data"]
    shared = {key: data[key] for key in ("forms", "attribute_share", "bare_share", "negated_share")}
    return {**shared, **config["negation"]["test"]}


def layers_settings(config: Mapping, model: str) -> dict:
    """Returns what the analysis of a model's text layers depends on."""
    block = config["negation"]["layers"]
    sizes = {"n_triples": block["triples"], "n_controls": block["controls"]}
    rest = {key: block[key] for key in ("peak", "anchor", "batch_size", "seed")}
    return {"model": encoding_of(config, model), **sizes, **rest}


def negation_features_settings(config: Mapping, model: str) -> dict:
    """Returns what the features of tokens depend on."""
    tokens = config["negation"]["training"]["tokens"]
    return {"model": encoding_of(config, model), "tokens": tokens, "attends": ATTENDS}


def peakpatch_settings(config: Mapping, model: str, variant: str) -> dict:
    """Returns what the training of a variant depends on, beside its seed."""
    block = config["negation"]["training"]
    training = {key: value for key, value in block.items() if key not in ("tokens", "seed")}
    return {"model": encoding_of(config, model), "training": {**training, "variant": variant, "attends": ATTENDS}}


def image_controls_settings(config: Mapping, model: str) -> dict:
    """Returns what the controls of a corrected model depend on."""
    return {"model": encoding_of(config, model), "seed": config["evaluation"]["seed"]}


def correction_examples_settings(config: Mapping, model: str) -> dict:
    """Returns what the examples of a correction depend on."""
    return {"model": encoding_of(config, model), "seed": config["plots"]["seed"]}


NEGATION = "negation"
"""Name of the test of negation among the benchmarks."""


def compared_benchmarks(config: Mapping) -> list[tuple[str, str]]:
    """Returns name and reader of each benchmark of negation.csv and clic.csv: our own, and those of the config."""
    names = dict.fromkeys([NEGATION, *config["benchmarks"]["use"]])
    return [(name, read_definition(config, "benchmarks", name)["reader"]) for name in names]


def negation_names(config: Mapping) -> list[str]:
    """Returns the names under which the models of negation.csv are measured."""
    return [name for model in negation_models(config) for name in model_names(config, model)]


def negation_tables_settings(config: Mapping) -> dict:
    """Returns what negation.csv depends on."""
    models, data = read_models(config), config["negation"]["data"]
    trained_on = data["corpus"] if data["source"] == "corpus" else data["source"]
    rows, seed = [], config["negation"]["training"]["seed"]
    for name in negation_names(config):
        is_trained = models[name]["family"] == "peakpatch"
        trained = {"trained_on": trained_on if is_trained else "", "seed": seed if is_trained else ""}
        rows.append({"model": name, "backbone": models[name].get("backbone", name), **trained})
    evaluation = {key: config["evaluation"][key] for key in ("n_resamples", "seed")}
    return {"evaluation": evaluation, "benchmarks": compared_benchmarks(config), "models": rows}


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


N_FILES = {"table": 1, "sentences": 1, "released": 2}
"""Files that a source of captions with images consists of, where their number is fixed."""


def check_negation(config: Mapping) -> None:
    """Checks that data of negation have a source, and that the test of negation is defined.

    Whatever the config says of it, nothing of it is asked for unless a user names one of its files.

    Raises:
        ValueError: names the key.
    """
    read_definition(config, "benchmarks", NEGATION)
    _check_captioned(config, "negation")
    data = config["negation"]["data"]
    if data["source"] == "released" and not data["images"]:
        raise ValueError("config: negation.data.source 'released' needs negation.data.images")


def check_clic(config: Mapping) -> None:
    """Checks that there is something to tune with, and that all of its numbers fit each other.

    Raises:
        ValueError: names the key.
    """
    _check_captioned(config, "clic")
    try:
        training_settings(config["clic"]["training"])
    except ValueError as error:
        raise ValueError(f"config: clic.training: {error}") from error


def _check_captioned(config: Mapping, block: str) -> None:
    """Checks that a block names where its captions with images are.

    Raises:
        ValueError: names the key.
    """
    data = config[block]["data"]
    source, n_files = data["source"], len(data["files"])
    if source == "corpus":
        if not data["corpus"]:
            raise ValueError(f"config: {block}.data.source 'corpus' needs a {block}.data.corpus")
        read_definition(config, "corpora", data["corpus"])
    elif n_files != N_FILES.get(source, n_files) or not n_files:
        raise ValueError(
            f"config: {block}.data.source {source!r} needs {N_FILES.get(source, 'one or more')} {block}.data.files, "
            f"and there are {n_files}"
        )


def clic_data_settings(config: Mapping, source: Mapping) -> dict:
    """Returns what the items of CLIC depend on.

    Args:
        config: the whole config.
        source: where captions and images are, as `crepebench.clic_sources.read_image_texts` takes it.
    """
    keys = ("most_items", "validation_share", "release_quirks", "seed")
    chosen = {key: config["clic"]["data"][key] for key in keys}
    return {**chosen, "source": source, "tagger": config["parser"]["spacy_model"]}


def clic_candidates_settings(config: Mapping) -> dict:
    """Returns what the candidates for words depend on."""
    block = config["clic"]["candidates"]
    generator = "wordnet"
    if block["generator"] == "captioner":
        generator = {**captions_settings(config), "concurrency": config["captioner"]["concurrency"]}
    return {"generator": generator, "min_count": block["min_count"]}


def needs_candidates(config: Mapping, variant: str) -> bool:
    """Says whether the negatives of a variant are made of candidates."""
    return variant_of(variant, config["clic"]["training"]).negatives == CANDIDATES


def tuning_settings(config: Mapping, model: str, variant: str) -> dict:
    """Returns what the training of a variant depends on, beside its seed."""
    return {"model": encoding_of(config, model), "variant": variant, "training": config["clic"]["training"]}


def clic_vision_settings(config: Mapping, model: str) -> dict:
    """Returns what the features of single images depend on."""
    return {"model": encoding_of(config, model)}


def export_settings(config: Mapping, model: str) -> dict:
    """Returns what the checkpoints of a tuned model depend on."""
    return {"model": encoding_of(config, model)}


def clic_names(config: Mapping) -> list[str]:
    """Returns the names under which the models of clic.csv are measured."""
    return [name for model in clic_models(config) for name in model_names(config, model)]


def clic_tables_settings(config: Mapping) -> dict:
    """Returns what clic.csv depends on."""
    models, rows = read_models(config), []
    for name in clic_names(config):
        definition = models[name]
        is_tuned = definition["family"] == METHOD
        of_tuned = {"base": definition["backbone"], "variant": definition["variant"]} if is_tuned else {}
        published = config["clic"]["published_name"] if of_tuned.get("variant") == METHOD else "" if is_tuned else name
        rows.append(
            {
                **{"model": name, "base": name, "variant": "base", **of_tuned, "published_name": published or ""},
                **{"seed": definition["tuning_seed"] if is_tuned else "", "training_data": definition["training_data"]},
            }
        )
    settings = tables_settings(config)
    chosen = {key: settings[key] for key in ("evaluation", "corpora")}
    return {**chosen, "benchmarks": compared_benchmarks(config), "models": rows}


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
        _check_model(config, name)
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


def _check_model(config: Mapping, name: str) -> None:
    """Checks that a model can be loaded."""
    definition = read_model(config, name)
    if definition["source"] == CORRECTED:
        _check_model(config, definition["backbone"])
        return
    where = f"config: models.definitions.{name}"
    family = definition["family"]
    if family in ("openai_clip", "clip_fine_tune") and "architecture" not in definition:
        raise ValueError(f"{where}: an architecture is missing")
    if definition["source"] != ICONS and family == "open_clip" and not definition["weights"].startswith(HUB):
        is_folder = isdir(definition["weights"])  # Path.is_dir raises on a name that is too long
        if not is_folder and "architecture" not in definition:
            raise ValueError(f"{where}: an architecture is missing, since weights is no folder with {CONFIG_FILE}")
        if is_folder and not isfile(join(definition["weights"], CONFIG_FILE)):
            raise ValueError(f"{where}: the folder {definition['weights']} holds no {CONFIG_FILE}")
