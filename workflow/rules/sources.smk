"""Where the files are that a run does not make itself: Visual Genome, captions, weights."""

import os
from glob import glob

from crepebench import aliases, corpora, visual_genome
from crepebench.models import CONFIG_FILE, WEIGHTS_FILE


def get_visual_genome_file(name):
    """Path of one of Visual Genome's files, wherever the config takes them from."""
    source = config["visual_genome"]["source"]
    folder = "results/icons/visual_genome" if source == "icons" else source
    return f"{folder}/{name}"


def get_annotation_file(name):
    """Path of an annotation file: the zip, or the unpacked file where only that is there."""
    unpacked = get_visual_genome_file(f"{name}.json")
    zipped = f"{unpacked}.zip"
    is_unpacked = os.path.exists(unpacked) and not os.path.exists(zipped)
    return unpacked if is_unpacked else zipped


def get_annotation_files():
    """Paths of the annotation files, in the order of visual_genome.ANNOTATIONS."""
    return [get_annotation_file(name) for name in visual_genome.ANNOTATIONS]


def get_alias_files():
    """Paths of the alias files that are there, if the config wants them."""
    paths = [get_visual_genome_file(name) for name in aliases.ALIAS_FILES]
    wanted = paths if config["visual_genome"]["aliases"] else []
    return [path for path in wanted if os.path.exists(path)]


def get_image_zip_paths():
    """Paths of the image zips, whether they are there or not."""
    return [get_visual_genome_file(name) for name in visual_genome.IMAGE_ZIPS]


def get_image_zips():
    """Paths of the image zips; of the user's own those that are there, since sets can be built without images."""
    paths = get_image_zip_paths()
    if config["visual_genome"]["source"] == "icons":
        return paths
    return [path for path in paths if os.path.exists(path)]


def get_region_graph_files():
    """Path of Visual Genome's own region graphs, if they are there."""
    path = get_annotation_file("region_graphs")
    return [path] if os.path.exists(path) else []


def get_corpus_paths(corpus):
    """Files of a corpus: made by the icons world, or the user's own."""
    definition = settings.read_definition(config, "corpora", corpus)
    if definition["source"] == "icons":
        return [f"results/icons/corpora/{corpus}/captions"]
    found = [
        path
        for pattern in definition["files"]
        for path in sorted(glob(pattern)) or [pattern]
    ]
    return corpora.list_files(found) if all(map(os.path.exists, found)) else found


def get_corpus_files(wildcards):
    """Files of a corpus."""
    return get_corpus_paths(wildcards.corpus)


def get_source_files():
    """Files that the user brings: Visual Genome, captions, weights."""
    files = [*get_annotation_files(), *get_image_zip_paths()]
    files += [
        path for corpus in config["corpora"]["use"] for path in get_corpus_paths(corpus)
    ]
    files += [path for model in USED_MODELS for path in get_model_weights(model)]
    return [path for path in files if not path.startswith("results/icons/")]


def get_weights(wildcards):
    """Files of a model's weights that a job needs."""
    return get_model_weights(wildcards.model)


def get_model_weights(model):
    """Files of a model's weights; none where the config names a tag."""
    definition = MODELS[model]
    if definition["source"] == "icons":
        corpus = definition["training_data"][0]
        folder = f"results/icons/models/{corpus}/seed_{definition['seed']}"
        return [f"{folder}/{CONFIG_FILE}", f"{folder}/{WEIGHTS_FILE}"]
    weights = Path(definition["weights"])
    if weights.is_dir():
        checkpoints = sorted(map(str, weights.glob("open_clip_*model.*")))
        return [str(weights / CONFIG_FILE), *checkpoints]
    is_file = weights.is_file() or weights.suffix or len(weights.parts) > 1
    return [str(weights)] if is_file else []  # else a tag of open_clip
