"""Encode the texts and crops of retrieval sets with one model, once each, and index them in the feature store."""

import json
import logging
from collections.abc import Mapping

from crepebench.accounting import write_accounting
from crepebench.batch_sizes import BatchSizer
from crepebench.crop_tensors import CropTensors
from crepebench.encoding import CROPS_ON_GPU, TEXTS_ON_GPU, chunks, describe_texts, encode_crops, encode_texts
from crepebench.feature_index import (
    Contents,
    Place,
    collect_contents,
    count_index,
    describe_problems,
    plan_contents,
    write_index,
)
from crepebench.feature_store import FLOAT32, FeatureStore
from crepebench.images import check_most_are_good
from crepebench.models import Model, load_model
from crepebench.schema import IMAGES, read_table

logger = logging.getLogger(__name__)

SHARD_ROWS = 20_000
"""Features of another model that are copied at once."""
MOST_ROUNDS = 3
"""How often features that leave the store while the job runs (pruned, damaged) are encoded before the job gives up."""


def extract_features(
    sets_paths: list[str],
    images_path: str,
    image_places: list[str],
    index_path: str,
    accounting_path: str,
    weights_paths: list[str],
    model: str,
    family: str,
    cfg: str,
    n_loaders: int = 1,
) -> None:
    """Encodes what the store does not hold yet and writes the index into it.

    Args:
        sets_paths: tables RETRIEVAL_SETS.
        images_path: table IMAGES.
        image_places: zips and folders that were searched for the images.
        index_path: table FEATURE_INDEX to write; the model's identity stands beside it as `.identity.json`.
        accounting_path: counts to write.
        weights_paths: files of the model's weights; empty where its config entry names a tag.
        model: name of the model.
        family: family of the retrieval sets.
        cfg: JSON of `batch_size` (a number or "auto"), `image_pipeline` (exact, fast), `precision_of_store` (float32,
            float16), `store` (folder of the feature store) and `model` (its config entry).
        n_loaders: number of threads that decode images ahead of the model.

    Raises:
        ValueError: no crop has a feature, or most images with a file cannot be used; says why.
        OSError: the store keeps losing what is added to it.
    """
    config = json.loads(cfg)
    encoder = load_model(config["model"], weights_paths)
    store = FeatureStore(config["store"], encoder.identity, config["precision_of_store"])
    job = EncodingJob(encoder, store, CropTensors(encoder, config["image_pipeline"]), config["batch_size"], n_loaders)
    images = {row["image_id"]: row for row in read_table(images_path, IMAGES).to_pylist()}
    contents = plan_contents(*collect_contents(sets_paths), images, job.tensors.pipeline)
    origin = {
        "model": model,
        "identity": store.folder.name,
        "store": config["store"],
        "own_score": type(encoder).score is not Model.score,
    }
    share_crops(encoder, store, contents, config["store"])
    places = store.find(contents.keys)
    logger.info("%d of %d features are in the store", len(places), len(contents.keys))
    for _ in range(MOST_ROUNDS):
        job.encode_missing(contents, places, images, image_places)
        with store.locked():  # what is found here cannot be pruned before the index that names it is written
            places = store.find(contents.keys)
            n_missing = sum(map(len, contents.missing(places)))
            if not n_missing:
                rows = contents.index_rows(places)
                write_index(index_path, rows, origin)
                break
        logger.warning("%d features have left the store meanwhile and are encoded again", n_missing)
    else:
        raise OSError(f"{store.folder} has lost features {MOST_ROUNDS} times; the log names damaged shards, if any")
    write_accounting(accounting_path, f"features/{model}/{family}", count_index(rows))


def share_crops(encoder: Model, store: FeatureStore, contents: Contents, root: str) -> None:
    """Adds to a model's store what another model's holds of the crops, where it takes over that one's features.

    Args:
        encoder: the model; its `image_identity` names the other.
        store: its store.
        contents: what is wanted.
        root: folder of all stores.
    """
    if encoder.image_identity == encoder.identity or store.precision != FLOAT32:  # a second rounding might change them
        return
    other = FeatureStore(root, encoder.image_identity)
    if not other.folder.is_dir():
        return
    keys = set(contents.key_of_crop.values())
    keys -= store.find(keys).keys()
    with other.locked():  # what is found there cannot be pruned before it is read
        there = other.find(keys)
        for part in chunks(sorted(there), SHARD_ROWS):
            store.add(part, encoder.adopt_images(other.read([there[key] for key in part])))
    if there:
        logger.info("%d crops have the features of the model under this one", len(there))


class EncodingJob:
    """A model, what its features are made with, and where they go.

    Args:
        encoder: the model.
        store: where features go.
        tensors: makes the tensors of crops.
        batch_size: a number, or "auto".
        n_loaders: number of threads that decode images ahead of the model.
    """

    def __init__(
        self, encoder: Model, store: FeatureStore, tensors: CropTensors, batch_size: int | str, n_loaders: int
    ):
        self.encoder, self.store, self.tensors, self._n_loaders = encoder, store, tensors, n_loaders
        self._crop_sizer, self._text_sizer = (BatchSizer(batch_size, size) for size in (CROPS_ON_GPU, TEXTS_ON_GPU))

    def encode_missing(
        self, contents: Contents, places: Mapping[str, Place], images: dict[int, dict], image_places: list[str]
    ) -> None:
        """Encodes what has no place in the store; notes the tokens of all texts; notes and logs why crops fail.

        Raises:
            ValueError: no crop has a feature, or most images with a file cannot be used; says why.
        """
        texts, crops = contents.missing(places)
        problems = encode_crops(
            crops, images, self.encoder, self.store, self._crop_sizer, self.tensors, self._n_loaders
        )
        contents.problems |= problems
        report = describe_problems(contents.problems, contents.n_crops, image_places)
        for line in report:
            logger.warning("%s", line)
        if report and len(contents.problems) == contents.n_crops:
            raise ValueError("\n".join(["no crop has a feature, so all tables would be empty:", *report]))
        with_file = {image_id for image_id, _ in contents.key_of_crop}
        failed = {image_id for image_id, _ in contents.problems} & with_file
        check_most_are_good(len(failed), len(with_file), report)
        contents.token_rows |= encode_texts(texts, self.encoder, self.store, self._text_sizer)
        contents.token_rows |= describe_texts(contents.key_of_text.keys() - contents.token_rows.keys(), self.encoder)
        n_crops = len(crops) - len(problems)
        if texts or n_crops:
            logger.info("%d texts and %d crops were encoded", len(texts), n_crops)
        else:
            logger.info("nothing was encoded: all features that can be made are in the store")
