"""Where the files are that a run does not make itself: Visual Genome, captions, weights."""

import hashlib
import os
from glob import glob
from itertools import filterfalse

from crepebench import (
    aliases,
    benchmark_manifests,
    corpora,
    image_files,
    manifests,
    visual_genome,
)
from crepebench.models import CONFIG_FILE, WEIGHTS_FILE
from crepebench.weight_sources import is_fetched

MANIFEST = RESOURCES / "visual_genome" / "manifest.yaml"
MANIFEST_ENTRIES = manifests.read_manifest(str(MANIFEST))
STORE = os.path.normpath(config["stores"]["downloads"])
DOWNLOADS = f"{STORE}/visual_genome"
IS_ICONS = config["visual_genome"]["source"] == model_definitions.ICONS


def get_visual_genome_file(name):
    """Path of one of Visual Genome's files in the folder that the config names."""
    source = config["visual_genome"]["source"]
    folder = "results/icons/visual_genome" if IS_ICONS else source
    return os.path.normpath(f"{folder}/{name}")


def get_fetched_file(name, *needed_for):
    """Path of a file of the manifest that is or will be fetched; none if `download` asks for other things only."""
    path = f"{DOWNLOADS}/{name}"
    is_wanted = config["visual_genome"]["download"] in needed_for
    return [path] if is_wanted or os.path.exists(path) else []


def get_annotation_file(name):
    """Path of an annotation file: made here, the user's own (zipped, or unpacked), or fetched."""
    if IS_ICONS:
        return get_visual_genome_file(f"{name}.json.zip")
    version = config["visual_genome"]["version"]
    entry = manifests.choose_version(MANIFEST_ENTRIES.values(), f"{name}.json", version)
    own = [get_visual_genome_file(file) for file in (entry.name, f"{name}.json")]
    found = list(filter(os.path.exists, own))
    return (found or get_fetched_file(entry.name, "everything", "annotations") or own)[
        0
    ]


def get_annotation_files():
    """Paths of the annotation files, in the order of visual_genome.ANNOTATIONS."""
    return [get_annotation_file(name) for name in visual_genome.ANNOTATIONS]


def get_alias_files():
    """Paths of the alias files, if the config wants them: the user's own, or fetched."""
    if IS_ICONS or not config["visual_genome"]["aliases"]:
        return []
    own = {name: get_visual_genome_file(name) for name in aliases.ALIAS_FILES}
    return [
        path
        for name, own_path in own.items()
        for path in (
            [own_path]
            if os.path.exists(own_path)
            else get_fetched_file(name, "everything", "annotations")
        )
    ]


def get_region_graph_files():
    """Path of Visual Genome's own region graphs, if they are there and wanted; they are never fetched."""
    path = get_annotation_file("region_graphs")
    is_wanted = config["graphs"]["source"] == "visual_genome"
    return [path] if is_wanted and os.path.exists(path) else []


def get_fetched_image_zips():
    """Zips of images that are or will be fetched: those of which the user's folder holds nothing."""
    lacking = image_files.lacking_zips(config["visual_genome"]["source"])
    return [path for name in lacking for path in get_fetched_file(name, "everything")]


def get_image_places():
    """Zips and folders that are searched for images, whether they are there or not."""
    if IS_ICONS:
        return [get_visual_genome_file(name) for name in image_files.IMAGE_ZIPS]
    own = [get_visual_genome_file(name) for name in image_files.IMAGE_PLACES]
    return list(dict.fromkeys(own + get_fetched_image_zips()))


def get_found_image_places():
    """Those that the run makes or that are there; there may be none, since sets can be built without images."""
    if IS_ICONS:
        return get_image_places()
    fetched = get_fetched_image_zips()
    return [
        path for path in get_image_places() if path in fetched or os.path.exists(path)
    ]


def get_manifest_files():
    """Visual Genome's files that the manifest knows: annotations, aliases, region graphs, zips of images."""
    zips = [place for place in get_found_image_places() if place.endswith(".zip")]
    return [
        *get_annotation_files(),
        *get_alias_files(),
        *get_region_graph_files(),
        *zips,
    ]


def get_file_index():
    """Record of Visual Genome's files; none of the icons world's."""
    return [] if IS_ICONS else ["results/visual_genome/files.json"]


def get_validated_files(wildcards):
    """Visual Genome's files that the manifest knows; stops where they cannot all be had, or not of one version."""
    files = get_annotation_files()
    missing = list(filterfalse(os.path.exists, files))
    if missing and config["visual_genome"]["download"] == "nothing":
        entries = [(path, MANIFEST_ENTRIES[os.path.basename(path)]) for path in missing]
        raise WorkflowError(
            f"visual_genome.download is nothing, but {manifests.missing_message(entries)}"
        )
    by_object = [get_annotation_file(name) for name in visual_genome.BY_OBJECT]
    unpacked = [path for path in by_object if path.endswith(".json")]
    if unpacked and len(unpacked) < len(by_object):
        raise WorkflowError(
            f"{unpacked} do not tell their version, and would be joined by object id with "
            f"{[path for path in by_object if path not in unpacked]}: bring all of them unpacked or none"
        )
    return get_manifest_files()


def get_missing_downloads():
    """Files that a run would fetch, each with its manifest."""
    files = {} if IS_ICONS else dict.fromkeys(get_manifest_files(), str(MANIFEST))
    for corpus in config["corpora"]["use"]:
        for manifest in get_corpus_manifests(corpus):
            files |= dict.fromkeys(get_corpus_paths(corpus), manifest)
    made = {path: file for path, file in files.items() if path.startswith(f"{STORE}/")}
    return {path: file for path, file in made.items() if not os.path.exists(path)}


def get_manifest(wildcards):
    """Manifest of the files that a folder of downloads holds; a newer one fetches nothing again."""
    kind, _, corpus = wildcards.collection.partition("/")
    found = get_corpus_manifests(corpus) if kind == "corpora" else [str(MANIFEST)]
    return [ancient(path) for path in found]


def get_corpus_manifests(*names):
    """Manifests of those of the corpora that have one."""
    found = [
        model_definitions.read_definition(config, "corpora", name) for name in names
    ]
    return [item["manifest"] for item in found if "manifest" in item]


def get_corpus_paths(corpus):
    """Files of a corpus: made by the icons world, fetched, or the user's own; the list of a subset stands last."""
    definition = model_definitions.read_definition(config, "corpora", corpus)
    if definition["source"] == "icons":
        return [f"results/icons/corpora/{corpus}/captions"]
    if "manifest" in definition:
        names = manifests.read_manifest(definition["manifest"])
        found = [f"{STORE}/corpora/{corpus}/{name}" for name in names]
    else:
        found = [
            path
            for pattern in definition["files"]
            for path in sorted(glob(pattern)) or [pattern]
        ]
        found = corpora.list_files(found) if all(map(os.path.exists, found)) else found
    if "subset" not in definition:
        return found
    subset = Path(definition["subset"])
    return [path for path in found if Path(path) != subset] + [str(subset)]


def get_corpus_files(wildcards):
    """Files of a corpus."""
    return get_corpus_paths(wildcards.corpus)


def get_corpus_manifest(wildcards):
    """Manifest of a corpus, if it has one."""
    return get_corpus_manifests(wildcards.corpus)


def get_corpus_stamps(wildcards):
    """Digest of sizes and times of the user's own files, so that one exchanged for an older one is noticed."""
    definition = model_definitions.read_definition(config, "corpora", wildcards.corpus)
    paths = get_corpus_paths(wildcards.corpus) if "files" in definition else []
    stats = [(path, os.stat(path)) for path in paths if os.path.exists(path)]
    stamps = [(path, stat.st_size, stat.st_mtime_ns) for path, stat in stats]
    return hashlib.sha256(to_json(stamps).encode()).hexdigest()


def get_source_files():
    """Files that the user brings: Visual Genome and captions (unless they are downloaded), weights, labels."""
    files = get_annotation_files()
    files += [
        path for corpus in config["corpora"]["use"] for path in get_corpus_paths(corpus)
    ]
    files += [path for model in USED_MODELS for path in get_model_weights(model)]
    files += config["parser_review"]["labelled"] + config["foils"]["exclusions"]
    for block, key in LANGUAGE_MODELS:
        files += get_language_model_files(block, key)
    files += get_captioner_files()
    made = ("results/icons/", "results/weights/", f"{STORE}/")
    return [path for path in files if not path.startswith(made)]


LANGUAGE_MODELS = (
    ("audit", "language_model"),
    ("foils", "language_model"),
    ("entailment", "model"),
)
"""Keys of the config that may name a model of texts."""


def get_language_model_files(block, key="language_model"):
    """Files of a model of texts; none where there is no such model, or the config names one of a hub or server."""
    path = Path(config[block][key] or "")
    if os.path.isfile(path):
        return [str(path)]
    is_folder = config[block][key] and os.path.isdir(path)
    return (
        sorted(str(found) for found in path.iterdir() if found.is_file())
        if is_folder
        else []
    )


def get_captioner_files():
    """Files of the model that words subgraphs; none where a server does."""
    is_local = config["captioner"]["backend"] == "transformers"
    return get_language_model_files("captioner", "model") if is_local else []


def get_weights(wildcards):
    """Files of a model's weights that a job needs."""
    return get_model_weights(wildcards.model)


def get_model_weights(model):
    """Files of a model's weights; none where the config names a tag."""
    definition = MODELS[model]
    if definition["source"] == model_definitions.CORRECTED:
        return [*get_model_weights(definition["backbone"]), *get_correction(definition)]
    if definition["source"] == "icons":
        corpus = definition["training_data"][0]
        depth = f"text_layers_{definition['text_layers']}"
        folder = f"results/icons/models/{corpus}/{depth}/seed_{definition['seed']}"
        return [f"{folder}/{CONFIG_FILE}", f"{folder}/{WEIGHTS_FILE}"]
    if is_fetched(definition):
        return [f"results/weights/{model}.weights.json"]
    weights = Path(definition["weights"])
    if not os.path.isdir(weights):
        return [str(weights)]
    depth = "*" if definition["family"] == "open_clip" else "**/*"
    return sorted(str(path) for path in weights.glob(depth) if path.is_file())


def get_roots_of(benchmark):
    """Folders and zips of pictures by name, as far as the manifest of the benchmark's reader asks for them."""
    definition = model_definitions.read_definition(config, "benchmarks", benchmark)
    laid = {
        f"zero_shot_{name}": [f"results/zero_shot/{name}"]
        for name in config["benchmarks"]["zero_shot"]
    }
    configured = {
        name: [place] for name, place in config["benchmarks"]["roots"].items()
    }
    own = {
        "run_images": get_image_places(),
        "clic_images": get_captioned_places("clic"),
    }
    places = {**own, **laid, **configured}
    manifest = RESOURCES / "benchmarks" / f"{definition['reader']}.yaml"
    if not manifest.exists():
        return places
    asked = {*benchmark_manifests.read_manifest(str(manifest))["images"]}
    asked |= {definition.get("options", {}).get("root")}
    return {name: place for name, place in places.items() if name in asked}


def get_existing_places(roots):
    """Those of the places that are there or that the run makes."""
    made = ("results/", *get_found_image_places())
    return [
        place
        for places in roots.values()
        for place in places
        if place.startswith(made) or os.path.exists(place)
    ]


def get_benchmark_places(wildcards):
    """Folders and zips of a benchmark's pictures that are there or that the run makes."""
    name = getattr(wildcards, "benchmark", None)
    return get_existing_places(
        get_roots_of(name or wildcards.family.removeprefix("bench_"))
    )


def get_benchmark_settings(wildcards):
    """What the items of a benchmark depend on."""
    benchmark = wildcards.benchmark
    return to_json(
        settings.benchmark_settings(config, benchmark, get_roots_of(benchmark))
    )


def get_correction(definition):
    """Files of what corrects or tunes a model; none where nothing is trained."""
    family, backbone = definition["family"], definition["backbone"]
    if family == "clic":
        folder = f"results/clic/trained/{backbone}/{definition['variant']}/seed_{definition['tuning_seed']}"
        return [f"{folder}/clic.safetensors", f"{folder}/clic.json"]
    if family != "peakpatch":
        return []
    seed = config["negation"]["training"]["seed"]
    folder = (
        f"results/negation/peakpatch/{backbone}/{definition['variant']}/seed_{seed}"
    )
    return [f"{folder}/peakpatch.safetensors", f"{folder}/peakpatch.json"]


def get_shared_features(wildcards):
    """Features of the model from which a corrected one takes those of images; they are made first, once for all."""
    definition = MODELS[wildcards.model]
    is_made = definition["source"] == model_definitions.CORRECTED
    if not is_made or not model_definitions.shares_images(definition):
        return []
    return f"results/features/{definition['backbone']}/{wildcards.family}.parquet"


def get_captioned(block):
    """Files of the captions with images that a block (negation, clic) trains on."""
    data = config[block]["data"]
    if data["source"] == "corpus":
        return get_corpus_paths(data["corpus"])
    return [
        path for pattern in data["files"] for path in sorted(glob(pattern)) or [pattern]
    ]


def get_captioned_images(block):
    """Their images, where they are files of their own."""
    data = config[block]["data"]
    if data["source"] != "corpus":
        return []
    definition = model_definitions.read_definition(config, "corpora", data["corpus"])
    if definition["source"] == "icons":
        return [f"results/icons/corpora/{data['corpus']}/images.zip"]
    return data["files"]


def get_packed(block):
    """Zip of images that lie in tars; none of other sources."""
    is_packed = config[block]["data"]["source"] == "webdataset"
    return [f"results/{block}/data/images.zip"] if is_packed else []


def get_captioned_places(block):
    """Folders and zips that are searched for the images that a block trains on."""
    data = config[block]["data"]
    if data["source"] in ("table", "sentences"):
        return sorted({os.path.dirname(path) or "." for path in data["files"]})
    own = [data["images"]] if data["source"] == "released" else []
    return own or get_packed(block) or get_captioned_images(block)


def get_captioned_source(block):
    """Where captions and images are, as `crepebench.captioned_images` takes it."""
    data = config[block]["data"]
    source = {"name": data["corpus"] or data["source"], "kind": data["source"]}
    if data["source"] == "corpus":
        source |= settings.reading_settings(config, data["corpus"])
        source |= {"captions": get_captioned(block)}
        source |= {"images": (get_captioned_images(block) or [None])[0]}
    elif data["source"] in ("table", "sentences"):
        source |= {"path": (data["files"] or [None])[0]}
    else:
        source |= {"files": get_captioned(block)}
    return source


def get_negation_image_places(wildcards):
    """Folders and zips that are searched for the images of data of negation."""
    return get_captioned_places("negation")


def get_negation_data_settings():
    """What data of negation depend on."""
    source = get_captioned_source("negation")
    return to_json(tuning_settings.negation_data_settings(config, source))


def get_clic_data_settings():
    """What the items of CLIC depend on."""
    source = get_captioned_source("clic")
    return to_json(tuning_settings.clic_data_settings(config, source))


def get_backbones(pattern):
    """Files of all models that are corrected."""
    names = [
        name
        for model in config["negation"]["models"]
        for name in model_definitions.model_names(config, model)
    ]
    return [pattern.format(model=name) for name in names]


def get_trainings(name):
    """A file of each training of PeakPatch."""
    seed = config["negation"]["training"]["seed"]
    return [
        f"{folder}/{variant}/seed_{seed}/{name}"
        for folder in get_backbones("results/negation/peakpatch/{model}")
        for variant in config["negation"]["variants"]
    ]


def get_swept_trainings(name):
    """A file of the training at each pair of layers of the sweep, model by model."""
    sweep, seed = (
        config["negation"]["sweep"],
        config["negation"]["training"]["seed"],
    )
    return [
        f"{folder}/{peak}_{anchor}/joint_seed_{seed}/{name}"
        for folder in get_backbones("results/negation/sweep/{model}")
        for peak in sweep["peaks"]
        for anchor in sweep["anchors"]
        if anchor < peak
    ]


def get_judge_file(key):
    """Function that gives a file of the judge that the config names."""

    def found(wildcards):
        path = config["negation"]["judge"][key]
        if not path:
            raise WorkflowError(
                f"negation.judge.{key} of the config names no file: see docs/negation.md"
            )
        return path

    return found


def get_training_labels():
    """Names of the trainings, in the order of `get_trainings`."""
    variants = config["negation"]["variants"]
    return [f"{model} {one}" for model in get_backbones("{model}") for one in variants]


def get_training_settings(wildcards):
    """What a training of PeakPatch depends on."""
    chosen = tuning_settings.peakpatch_settings(
        config, wildcards.model, wildcards.variant
    )
    return to_json(chosen)


def get_frozen_features(wildcards):
    """Features of the model that another one corrects."""
    backbone = MODELS[wildcards.model]["backbone"]
    return f"results/features/{backbone}/bench_{wildcards.benchmark}.parquet"


def get_negation_results(pattern, which=""):
    """Files of the benchmarks of negation.csv, benchmark by benchmark; of all models, or of those that are trained."""
    names = tuning_settings.negation_names(config)
    trained = [name for name in names if MODELS[name]["family"] == "peakpatch"]
    models = {"": [""], "all": names, "trained": trained}[which]
    return [
        pattern.format(benchmark=benchmark, model=model)
        for benchmark, _ in tuning_settings.compared_benchmarks(config)
        for model in models
    ]


def get_negation_scores(family):
    """Scores of all models of negation.csv on CREPE's sets."""
    names = tuning_settings.negation_names(config)
    return [f"results/scores/{name}/{family}.parquet" for name in names]


def get_compared_manifests(benchmarks):
    """Manifests of the readers of some benchmarks, given by name and reader, where they have one."""
    readers = {reader for _, reader in benchmarks}
    paths = (RESOURCES / "benchmarks" / f"{reader}.yaml" for reader in sorted(readers))
    return [str(path) for path in paths if path.exists()]


def get_clic_candidates(wildcards):
    """Candidates for words, where a variant's negatives are made of them."""
    is_needed = tuning_settings.needs_candidates(config, wildcards.variant)
    return "results/clic/data/candidates.parquet" if is_needed else []


def get_clic_vision(wildcards):
    """Features of single images, where the training leaves the vision tower as it is."""
    definition = {"family": "clic", "variant": wildcards.variant}
    is_frozen = model_definitions.shares_images(definition)
    return f"results/clic/vision/{wildcards.model}/index.json" if is_frozen else []


def get_clic_settings(wildcards):
    """What a training of CLIC depends on."""
    chosen = tuning_settings.tuning_settings(config, wildcards.model, wildcards.variant)
    return to_json(chosen)


def get_clic_trainings(name):
    """A file of each training of CLIC."""
    block = config["clic"]
    return [
        f"results/clic/trained/{base}/{variant}/seed_{seed}/{name}"
        for model in block["models"]
        for base in model_definitions.model_names(config, model)
        for variant in block["variants"]
        for seed in block["seeds"]
    ]


def get_clic_labels():
    """Names of the trainings, in the order of `get_clic_trainings`."""
    block = config["clic"]
    bases = [
        base
        for model in block["models"]
        for base in model_definitions.model_names(config, model)
    ]
    return [
        (
            f"{variant} seed {seed}"
            if len(bases) == 1
            else f"{base} {variant} seed {seed}"
        )
        for base in bases
        for variant in block["variants"]
        for seed in block["seeds"]
    ]


def get_clic_cells():
    """Cells of clic.csv that the plot of gains has: benchmark, subset and metric; systematicity by the bases' corpora."""
    bases = [MODELS[name] for name in tuning_settings.clic_names(config)]
    corpora = dict.fromkeys(name for base in bases for name in base["training_data"])
    cells = []
    for corpus in corpora:
        for foil_type in FOIL_TYPES["systematicity"]:
            cell = f"{corpus}/{foil_type}"
            cells += [(f"{cell}/{split}", "recall_at_1") for split in ("SC", "UC")]
            cells += [(cell, "gap")]
    cells = [("crepe_systematicity", *cell) for cell in cells]
    return cells + [
        ("crepe_productivity", foil_type, "recall_at_1")
        for foil_type in FOIL_TYPES["productivity"]
    ]


def get_clic_results(pattern):
    """Files of the benchmarks of clic.csv, benchmark by benchmark and model by model."""
    models = tuning_settings.clic_names(config) if "{model}" in pattern else [""]
    return [
        pattern.format(benchmark=benchmark, model=model)
        for benchmark, _ in tuning_settings.clic_benchmarks(config)
        for model in models
    ]


def get_clic_scores(family):
    """Scores of all models of clic.csv on CREPE's sets."""
    return [
        f"results/scores/{name}/{family}.parquet"
        for name in tuning_settings.clic_names(config)
    ]
