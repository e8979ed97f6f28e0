import csv
import errno
import io
import json
import os
import tempfile
import zipfile

import numpy as np
import pytest
from filelock import FileLock, Timeout
from PIL import Image

from crepebench.feature_index import collect_contents, crop_id, crop_key, describe_problems, identity_path, text_id
from crepebench.feature_reader import read_features
from crepebench.feature_store import DamagedShardError, FeatureStore
from crepebench.features import extract_features
from crepebench.images import ImageReader
from crepebench.models import ImagePlan
from crepebench.schema import FEATURE_INDEX, IMAGES, RETRIEVAL_SETS, read_table, write_table

from .fake_encoder import CorrectedEncoder, FakeEncoder, vector_of

SIZE = (64, 48)
BOX = (4, 5, 20, 30)


def jpeg(colour=(200, 30, 30), size=SIZE, mode="RGB"):
    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 40, size=(size[1], size[0], 3)) + np.array(colour)
    Image.fromarray(np.clip(noise, 0, 255).astype(np.uint8)).convert(mode).save(buffer, "JPEG", quality=95)
    return buffer.getvalue()


def spoil(path, member, data):
    """Changes bytes of a member's stored or deflated data without touching the directory."""
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(member)
    start = info.header_offset + 30 + len(member)
    raw[start + 10 : start + 10 + len(data)] = data
    path.write_bytes(raw)


def image_row(image_id, archive, path, size=SIZE, crc32=1):
    return {
        "image_id": image_id,
        "width": size[0],
        "height": size[1],
        "archive": archive and str(archive),
        "path": path,
        "crc32": crc32,
        "coco_id": None,
        "flickr_id": None,
    }


def set_row(image_id, caption, foils, box=BOX):
    foil = dict.fromkeys(("foil_id", "kind", "original", "replacement", "source"), "")
    return {
        "set_id": f"{image_id}{caption}",
        "protocol": "paper",
        "foil_type": "atom",
        "image_id": image_id,
        "region_id": image_id,
        "subgraph_id": None,
        **dict(zip(("x", "y", "width", "height"), box, strict=True)),
        "complexity": 2,
        "caption": caption,
        "caption_source": "visual_genome",
        "foils": [{**foil, "text": text} for text in foils],
    }


def triple_of(index):
    """Row of each (kind, id), the matrix, and the reasons of crops without a feature."""
    features = read_features(index)
    row_of = {(kind, id_): row for kind, rows in features.rows.items() for id_, row in rows.items()}
    return row_of, features.matrix, features.reasons


class Stage:
    """Writes sets and images into a folder and runs the stage there."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.index = str(folder / "index.parquet")
        self.encoder = FakeEncoder()
        monkeypatch.setattr("crepebench.features.load_model", lambda definition, weights: self.encoder)

    def run(self, sets, images, batch_size=2, image_pipeline="exact", precision_of_store="float32"):
        write_table(str(self.folder / "sets.parquet"), RETRIEVAL_SETS, sets)
        write_table(str(self.folder / "images.parquet"), IMAGES, images)
        cfg = {
            "batch_size": batch_size,
            "image_pipeline": image_pipeline,
            "precision_of_store": precision_of_store,
            "store": str(self.folder / "store"),
            "model": {"family": "open_clip"},
        }
        extract_features(
            [str(self.folder / "sets.parquet")],
            str(self.folder / "images.parquet"),
            ["vg/images.zip", "vg/images2.zip"],
            self.index,
            str(self.folder / "accounting.csv"),
            [],
            "fake",
            "systematicity",
            json.dumps(cfg),
        )
        return triple_of(self.index)

    def shards(self):
        """Files of the model's folder in the store, by name."""
        return sorted((self.folder / "store" / "fake-1").iterdir())

    def counts(self):
        with open(self.folder / "accounting.csv", newline="") as file:
            return {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}


@pytest.fixture
def stage(tmp_path, monkeypatch):
    return Stage(tmp_path, monkeypatch)


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "images.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("VG_100K/1.jpg", jpeg())
        file.writestr("VG_100K/2.jpg", jpeg((30, 30, 200)))
        file.writestr("VG_100K/3.jpg", jpeg()[: len(jpeg()) // 2])
    return path


def images_of(archive, *image_ids, **changes):
    with zipfile.ZipFile(archive) as file:
        checksums = {info.filename: info.CRC for info in file.infolist()}
    paths = {image_id: f"VG_100K/{image_id}.jpg" for image_id in image_ids}
    return [image_row(i, archive, path, crc32=checksums[path], **changes) for i, path in paths.items()]


def test_features_of_images_are_taken_over_from_the_model_that_is_corrected(stage, archive):
    sets, images = (
        [set_row(1, "a red jar", ["a box"]), set_row(2, "a blue jar", ["a cup"])],
        images_of(archive, 1, 2, 3),
    )
    sets.append(set_row(3, "a jar", ["a cup"]))
    row_of, before, _ = stage.run(sets[:1], images)
    stage.encoder = CorrectedEncoder()
    corrected_of, matrix, reasons = stage.run(sets, images)
    assert stage.encoder.n_images == 1  # the first picture was there
    crop = "crop", crop_id(1, BOX)
    assert np.array_equal(matrix[corrected_of[crop]], before[row_of[crop]][::-1])
    assert reasons == {crop_id(3, BOX): "image_unreadable"}
    again = stage.run(sets, images)
    assert np.array_equal(again[1], matrix)
    assert stage.encoder.n_images == 1


@pytest.mark.parametrize(
    ("image_id", "box", "id_"), [(1, (0, 0, 5, 6), "1:0,0,5,6"), (12, (3, 4, 50, 60), "12:3,4,50,60")]
)
def test_crop_id_names_image_and_box(image_id, box, id_):
    assert crop_id(image_id, box) == id_


@pytest.mark.parametrize("change", [{"crc32": 2}, {"image_id": 2}, {"width": 65}, {"height": 47}])
def test_crop_key_depends_on_the_image_file(change):
    image = image_row(1, None, None)
    assert crop_key(image, BOX, "exact") != crop_key({**image, **change}, BOX, "exact")


def test_crop_key_depends_on_the_box_but_not_on_the_place_of_the_file():
    image = image_row(1, "here/images.zip", "VG_100K/1.jpg")
    assert crop_key(image, BOX, "exact") == crop_key({**image, "archive": "there/images.zip"}, BOX, "exact")
    assert crop_key(image, BOX, "exact") != crop_key(image, (4, 5, 20, 31), "exact")


def test_contents_are_collected_once(tmp_path):
    sets = [set_row(1, "a", ["b", "c"]), set_row(1, "a", ["c", "d"]), set_row(2, "b", [])]
    write_table(str(tmp_path / "sets.parquet"), RETRIEVAL_SETS, sets)
    assert collect_contents([str(tmp_path / "sets.parquet")]) == (set("abcd"), {(1, BOX), (2, BOX)})


def test_every_text_and_crop_gets_its_own_feature(stage, archive):
    sets = [set_row(1, "a red jar", ["a blue jar", "a box"]), set_row(2, "a blue jar", ["a cup"], (0, 0, 64, 48))]
    row_of, matrix, reasons = stage.run(sets, images_of(archive, 1, 2))
    for text in ("a red jar", "a blue jar", "a box", "a cup"):
        assert np.array_equal(matrix[row_of["text", text_id(text)]], vector_of(text))
    with ImageReader() as reader:
        for image_id, (x, y, width, height) in ((1, BOX), (2, (0, 0, 64, 48))):
            picture = reader.read(*images_of(archive, image_id)).picture.crop((x, y, x + width, y + height))
            expected = stage.encoder.preprocess(picture).numpy()
            assert np.array_equal(matrix[row_of["crop", crop_id(image_id, (x, y, width, height))]], expected)
    assert reasons == {}


def test_index_is_sorted_and_has_its_schema(stage, archive):
    stage.run([set_row(1, "a red jar", ["a blue jar", "a box"])], images_of(archive, 1))
    table = read_table(stage.index, FEATURE_INDEX)
    assert table.schema.equals(FEATURE_INDEX)
    keys = [(row["kind"], row["id"]) for row in table.to_pylist()]
    assert keys == sorted(keys)
    assert len(keys) == 4
    with open(identity_path(stage.index)) as file:
        assert json.load(file)["identity"] == "fake-1"


def test_second_run_encodes_nothing(stage, archive):
    sets = [set_row(1, "a red jar", ["a blue jar"])]
    first = stage.run(sets, images_of(archive, 1))
    stage.encoder = FakeEncoder()
    second = stage.run(sets, images_of(archive, 1))
    assert (stage.encoder.texts, stage.encoder.n_images) == ([], 0)
    assert np.array_equal(first[1], second[1])


def test_only_what_is_new_is_encoded(stage, archive):
    stage.run([set_row(1, "a red jar", ["a blue jar"])], images_of(archive, 1, 2))
    stage.encoder = FakeEncoder()
    stage.run([set_row(1, "a red jar", ["a cup"]), set_row(2, "a blue jar", [])], images_of(archive, 1, 2))
    assert (stage.encoder.texts, stage.encoder.n_images) == (["a cup"], 1)


def test_image_without_a_file_is_counted(stage, archive):
    images = [*images_of(archive, 1), image_row(4, None, None)]
    _, _, reasons = stage.run([set_row(1, "a", ["b"]), set_row(4, "a", ["b"])], images)
    assert reasons == {crop_id(4, BOX): "image_missing"}
    assert stage.counts() == {
        ("text", "read"): 2,
        ("text", "kept"): 2,
        ("text_in_full", "read"): 2,
        ("text_in_full", "kept"): 2,
        ("crop", "read"): 2,
        ("crop", "image_missing"): 1,
        ("crop", "kept"): 1,
    }


def test_truncated_jpeg_is_set_aside_and_counted(stage, archive):
    sets = [set_row(1, "a", ["b"]), set_row(3, "a", ["b"]), set_row(3, "a", ["b"], (0, 0, 9, 9))]
    row_of, _, reasons = stage.run(sets, images_of(archive, 1, 3))
    assert reasons == {crop_id(3, BOX): "image_unreadable", crop_id(3, (0, 0, 9, 9)): "image_unreadable"}
    assert ("crop", crop_id(1, BOX)) in row_of
    assert stage.counts()["crop", "image_unreadable"] == 2


@pytest.mark.parametrize("data", [b"", b"no image at all", b"\xff\xd8\xff\xe0 half"], ids=["empty", "text", "header"])
def test_file_that_is_no_image_is_set_aside(stage, tmp_path, data):
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as file:
        file.writestr("VG_100K/5.jpg", data)
        file.writestr("VG_100K/6.jpg", jpeg())
    _, _, reasons = stage.run([set_row(5, "a", ["b"]), set_row(6, "a", ["b"])], images_of(tmp_path / "bad.zip", 5, 6))
    assert reasons == {crop_id(5, BOX): "image_unreadable"}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_image_whose_zip_member_is_damaged_is_set_aside(stage, tmp_path, method):
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("VG_100K/5.jpg", jpeg())
        file.writestr("VG_100K/6.jpg", jpeg())
    spoil(path, "VG_100K/5.jpg", bytes(range(255, 215, -1)))
    _, _, reasons = stage.run([set_row(5, "a", ["b"]), set_row(6, "a", ["b"])], images_of(path, 5, 6))
    assert reasons == {crop_id(5, BOX): "image_unreadable"}


def test_image_of_another_size_than_annotated_is_set_aside(stage, archive):
    images = [*images_of(archive, 1, size=(640, 480)), *images_of(archive, 2)]
    _, _, reasons = stage.run([set_row(1, "a", ["b"]), set_row(2, "a", ["b"])], images)
    assert reasons == {crop_id(1, BOX): "image_size"}


def test_image_of_too_many_pixels_is_set_aside(stage, archive, monkeypatch):
    monkeypatch.setattr("crepebench.images.MOST_PIXELS", 4000)
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr("VG_100K/7.jpg", jpeg(size=(100, 100)))
    images = [*images_of(archive, 7, size=(100, 100)), *images_of(archive, 1)]
    _, _, reasons = stage.run([set_row(7, "a", ["b"]), set_row(1, "a", ["b"])], images)
    assert reasons == {crop_id(7, BOX): "image_too_large"}


def test_features_that_are_in_the_store_survive_the_loss_of_the_image(stage, archive):
    images = images_of(archive, 1)
    first = stage.run([set_row(1, "a", ["b"])], images)
    archive.unlink()
    second = stage.run([set_row(1, "a", ["b"])], images)
    assert np.array_equal(first[1], second[1])


def test_image_that_is_unpacked_later_is_not_encoded_again(stage, archive):
    first = stage.run([set_row(1, "a", ["b"])], images_of(archive, 1))
    with zipfile.ZipFile(archive) as file:
        file.extractall(stage.folder)
    stage.encoder = FakeEncoder()
    unpacked = {**images_of(archive, 1)[0], "archive": str(stage.folder / "VG_100K"), "path": "1.jpg"}
    second = stage.run([set_row(1, "a", ["b"])], [unpacked])
    assert stage.encoder.n_images == 0
    assert np.array_equal(first[1], second[1])


def test_features_of_an_unpacked_image_are_those_of_the_zipped_one(stage, archive):
    first = stage.run([set_row(1, "a", ["b"])], images_of(archive, 1))
    with zipfile.ZipFile(archive) as file:
        file.extractall(stage.folder)
    for path in stage.shards():
        path.unlink()
    unpacked = {**images_of(archive, 1)[0], "archive": str(stage.folder / "VG_100K"), "path": "1.jpg"}
    second = stage.run([set_row(1, "a", ["b"])], [unpacked])
    assert stage.encoder.n_images == 2
    assert np.array_equal(first[1], second[1])


def test_file_that_was_exchanged_after_it_was_listed_is_set_aside(stage, archive):
    """Its features would else be kept under the checksum of another content."""
    images = [{**images_of(archive, 1)[0], "crc32": 5}, *images_of(archive, 2)]
    _, _, reasons = stage.run([set_row(1, "a", ["b"]), set_row(2, "a", ["b"])], images)
    assert reasons == {crop_id(1, BOX): "image_changed"}


def test_an_error_if_most_images_with_a_file_fail(stage, archive):
    images = [*images_of(archive, 1), *images_of(archive, 2, 3, size=(9, 9)), image_row(4, None, None)]
    with pytest.raises(ValueError, match="2 of 3 images with a file cannot be used") as error:
        stage.run([set_row(image_id, "a", ["b"]) for image_id in (1, 2, 3, 4)], images)
    assert "image_size: 1 of 4 crops; 1 image(s): 2" in str(error.value)
    assert not (stage.folder / "index.parquet").exists()


def test_missing_shard_is_named(stage, archive):
    stage.run([set_row(1, "a", ["b"])], images_of(archive, 1))
    for path in stage.shards():
        path.unlink()
    with pytest.raises(FileNotFoundError, match=r"is gone: .*`snakemake --forcerun extract_features`"):
        read_features(stage.index)


@pytest.fixture
def three_shards(stage, archive, monkeypatch):
    """A function that runs a stage whose features lie in three shards: two of two texts each, one of a crop."""
    monkeypatch.setattr("crepebench.encoding.TEXTS_PER_SHARD", 2)

    def run(batch_size=2):
        stage.encoder = FakeEncoder()
        return stage.run([set_row(1, "a", ["bb", "ccc", "dddd"])], images_of(archive, 1), batch_size)

    return run


def place_of(stage, kind, id_):
    """File of the shard that the index names for a text or crop."""
    rows = read_table(stage.index, FEATURE_INDEX).to_pylist()
    (shard,) = (row["shard"] for row in rows if (row["kind"], row["id"]) == (kind, id_))
    return stage.folder / "store" / "fake-1" / f"{shard}.parquet"


@pytest.mark.parametrize(
    ("kind", "id_", "texts", "n_crops"),
    [
        ("text", text_id("a"), ["a", "bb"], 0),
        ("text", text_id("ccc"), ["ccc", "dddd"], 0),
        ("crop", "1:4,5,20,30", [], 1),
    ],
)
def test_damaged_shard_is_rebuilt_alone(stage, three_shards, caplog, kind, id_, texts, n_crops):
    caplog.set_level("INFO")
    before = three_shards()
    shards = stage.shards()
    assert len(shards) == 3
    path = place_of(stage, kind, id_)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DamagedShardError, match=f"{path.name} is damaged"):
        read_features(stage.index)
    after = three_shards()
    assert (stage.encoder.texts, stage.encoder.n_images) == (texts, n_crops)
    assert (after[0], after[2]) == (before[0], before[2])
    assert np.array_equal(after[1], before[1])
    assert stage.shards() == sorted([*shards, path.with_name(f"{path.name}.damaged")])
    assert f"{path.name} is damaged (it cannot be read" in caplog.text
    assert f"{len(texts)} texts and {n_crops} crops were encoded" in caplog.text


def test_another_batch_size_encodes_nothing_and_says_so(stage, three_shards, caplog):
    caplog.set_level("INFO")
    before = three_shards(batch_size=2)
    after = three_shards(batch_size=1)
    assert stage.encoder.batches == []
    assert np.array_equal(before[1], after[1])
    assert "5 of 5 features are in the store" in caplog.text
    assert "nothing was encoded: all features that can be made are in the store" in caplog.text


def held(stage):
    """Says whether the lock of the model's folder is held."""
    try:
        with FileLock(str(stage.folder / "store" / "fake-1.lock")).acquire(timeout=0):
            return False
    except Timeout:
        return True


def test_lock_is_held_while_the_index_is_written_but_not_while_encoding(stage, archive, monkeypatch):
    found = {}

    class WatchingEncoder(FakeEncoder):
        def encode_tokens(self, tokens):
            found["texts"] = held(stage)
            return super().encode_tokens(tokens)

        def encode_images(self, images):
            found["images"] = held(stage)
            return super().encode_images(images)

    def watching_write(*arguments):
        found["index"] = held(stage)
        return write_table(*arguments)

    (stage.folder / "store").mkdir()
    stage.encoder = WatchingEncoder()
    monkeypatch.setattr("crepebench.feature_index.write_table", watching_write)
    stage.run([set_row(1, "a", ["b"])], images_of(archive, 1))
    assert found == {"texts": False, "images": False, "index": True}


def test_features_that_leave_the_store_while_others_are_encoded_are_encoded_again(stage, archive, caplog):
    before = stage.run([set_row(1, "a", ["b"])], images_of(archive, 1))
    shards = stage.shards()

    class PruningEncoder(FakeEncoder):
        def encode_tokens(self, tokens):
            while shards:
                shards.pop().unlink()
            return super().encode_tokens(tokens)

    stage.encoder = PruningEncoder()
    row_of, matrix, _ = stage.run([set_row(1, "a", ["b", "c"])], images_of(archive, 1))
    assert stage.encoder.texts == ["c", "a", "b"]
    assert stage.encoder.n_images == 1
    for key, row in before[0].items():
        assert np.array_equal(matrix[row_of[key]], before[1][row])
    assert "3 features have left the store meanwhile" in caplog.text


def test_store_that_keeps_nothing_stops_the_job(stage, archive, monkeypatch):
    monkeypatch.setattr(FeatureStore, "find", lambda self, keys: {})
    with pytest.raises(OSError, match="has lost features 3 times"):
        stage.run([set_row(1, "a", ["b"])], images_of(archive, 1))


def test_report_names_reason_counts_and_first_ids_and_where_missing_images_were_searched():
    problems = {(image_id, BOX): "image_missing" for image_id in range(30, 5, -1)}
    problems |= {(6, (0, 0, 9, 9)): "image_missing", (3, BOX): "image_size", (2, BOX): "image_size"}
    first = ", ".join(map(str, range(6, 26)))
    assert describe_problems(problems, 99, ["vg/images.zip", "vg/images2.zip"]) == [
        f"image_missing: 26 of 99 crops; 25 image(s): {first}, ...; searched in vg/images.zip, vg/images2.zip",
        "image_size: 2 of 99 crops; 2 image(s): 2, 3",
    ]


def test_report_of_missing_images_is_logged(stage, archive, caplog):
    images = [*images_of(archive, 1), image_row(4, None, None)]
    stage.run([set_row(1, "a", ["b"]), set_row(4, "a", ["b"])], images)
    searched = "searched in vg/images.zip, vg/images2.zip"
    assert f"image_missing: 1 of 2 crops; 1 image(s): 4; {searched}" in caplog.text


def test_index_without_any_crop_is_an_error_that_says_why(stage, archive):
    images = [*images_of(archive, 3), image_row(4, None, None), image_row(5, None, None)]
    with pytest.raises(ValueError, match="no crop has a feature, so all tables would be empty") as error:
        stage.run([set_row(image_id, "a", ["b"]) for image_id in (3, 4, 5)], images)
    assert str(error.value).splitlines()[1:] == [
        "image_missing: 2 of 3 crops; 2 image(s): 4, 5; searched in vg/images.zip, vg/images2.zip",
        "image_unreadable: 1 of 3 crops; 1 image(s): 3",
    ]
    assert not (stage.folder / "index.parquet").exists()
    assert stage.encoder.texts == []


def test_texts_over_the_limit_are_flagged_and_counted(stage, archive):
    stage.run([set_row(1, "x" * 41, ["x" * 42, "a box"])], images_of(archive, 1))
    rows = {row["id"]: row for row in read_table(stage.index, FEATURE_INDEX).to_pylist()}
    long, longer, short = (rows[text_id(text)] for text in ("x" * 41, "x" * 42, "a box"))
    assert [(row["n_tokens"], row["is_cut"]) for row in (long, longer, short)] == [(41, True), (42, True), (5, False)]
    assert long["tokens_id"] == longer["tokens_id"] != short["tokens_id"]
    assert [rows[crop_id(1, BOX)][name] for name in ("tokens_id", "n_tokens", "is_cut")] == [None] * 3
    counts = stage.counts()
    assert [counts["text_in_full", reason] for reason in ("read", "over_token_limit", "kept")] == [3, 2, 1]
    assert counts["text", "kept"] == 3


def test_tokens_are_known_of_texts_that_were_in_the_store(stage, archive):
    sets = [set_row(1, "x" * 41, ["a box"])]
    stage.run(sets, images_of(archive, 1))
    first = read_table(stage.index, FEATURE_INDEX)
    stage.encoder = FakeEncoder()
    stage.run([*sets, set_row(1, "a jar", ["a box"])], images_of(archive, 1))
    assert stage.encoder.texts == ["a jar"]
    rows = {row["id"]: row for row in read_table(stage.index, FEATURE_INDEX).to_pylist()}
    for row in first.to_pylist():
        assert rows[row["id"]] == row


class PlannedEncoder(FakeEncoder):
    """Encodes a crop by some of its pixels, after the preprocessing that a plan describes."""

    def __init__(self):
        from open_clip.transform import image_transform

        super().__init__()
        self.image_plan = ImagePlan((16, 16), "shortest", "bicubic", (0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
        self.transform = image_transform(16, is_train=False, mean=self.image_plan.mean, std=self.image_plan.std)

    def preprocess(self, picture):
        return self.transform(picture)

    def encode_images(self, images):
        self.n_images += len(images)
        return images[:, :, 3:9, 3:9].flatten(1).numpy()[:, :5]


def test_crops_of_the_two_pipelines_never_mix(stage, archive):
    sets, rows = [set_row(1, "a", ["b"])], images_of(archive, 1)
    found = {}
    for pipeline in ("exact", "fast", "exact"):
        stage.encoder = PlannedEncoder()
        row_of, matrix, _ = stage.run(sets, rows, image_pipeline=pipeline)
        found.setdefault(pipeline, []).append((stage.encoder.n_images, matrix[row_of["crop", crop_id(1, BOX)]]))
    assert [n_images for pipeline in ("exact", "fast") for n_images, _ in found[pipeline]] == [1, 0, 1]
    exact, again = (vector for _, vector in found["exact"])
    assert np.array_equal(exact, again)
    difference = np.abs(found["fast"][0][1] - exact)
    assert difference.max() < 2.001 / 255 / 0.2


def test_fast_pipeline_without_a_plan_shares_the_exact_features(stage, archive):
    sets, rows = [set_row(1, "a", ["b"])], images_of(archive, 1)
    stage.run(sets, rows)
    stage.encoder = FakeEncoder()
    stage.run(sets, rows, image_pipeline="fast")
    assert stage.encoder.n_images == 0


class UnitEncoder(FakeEncoder):
    """Gives unit rows."""

    def encode_tokens(self, tokens):
        return unit_rows(super().encode_tokens(tokens))

    def encode_images(self, images):
        return unit_rows(super().encode_images(images))


def unit_rows(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_half_precision_of_the_store_is_a_key_and_gives_unit_rows(stage, archive):
    sets, rows = [set_row(1, "a", ["b"])], images_of(archive, 1)
    matrices = []
    for precision in ("float32", "float16"):
        stage.encoder = UnitEncoder()
        matrices.append(stage.run(sets, rows, precision_of_store=precision)[1])
        assert stage.encoder.texts == ["a", "b"]
    assert matrices[1].dtype == np.float32
    assert np.abs(np.linalg.norm(matrices[1], axis=1) - 1).max() < 1e-6
    assert 0 < np.abs(matrices[0] - matrices[1]).max() < 1e-3


def test_automatic_batch_size_encodes_all(stage, archive):
    row_of, _, _ = stage.run([set_row(1, "a", ["b"])], images_of(archive, 1), batch_size="auto")
    assert len(row_of) == 3


@pytest.mark.parametrize("mode", ["CMYK", "L"])
def test_pictures_of_other_modes_are_encoded_in_rgb_by_both_pipelines(stage, tmp_path, mode):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("VG_100K/5.jpg", jpeg(mode=mode))
    vectors = []
    for pipeline in ("exact", "fast"):
        stage.encoder = PlannedEncoder()
        row_of, matrix, reasons = stage.run(
            [set_row(5, "a", ["b"])], images_of(tmp_path / "other.zip", 5), image_pipeline=pipeline
        )
        assert reasons == {}
        vectors.append(matrix[row_of["crop", crop_id(5, BOX)]])
    assert np.abs(vectors[0] - vectors[1]).max() < 2.001 / 255 / 0.2


def test_model_that_gives_no_number_stops_the_job_and_nothing_is_kept(stage, archive):
    class BrokenEncoder(FakeEncoder):
        def encode_images(self, images):
            return np.full((len(images), 5), np.nan, np.float32)

    stage.encoder = BrokenEncoder()
    with pytest.raises(ValueError, match="1 of 1 features are not finite"):
        stage.run([set_row(1, "a", ["b"])], images_of(archive, 1))
    assert not (stage.folder / "index.parquet").exists()


@pytest.mark.parametrize("own_score", [False, True])
def test_identity_file_says_whether_the_model_scores_by_itself(stage, archive, own_score):
    class Scoring(FakeEncoder):
        def score(self, images, texts):
            return -super().score(images, texts)

    stage.encoder = Scoring() if own_score else FakeEncoder()
    stage.run([set_row(1, "a", ["b"])], images_of(archive, 1))
    assert read_features(stage.index).own_score == own_score


def test_large_features_lie_in_a_file_and_are_the_same(stage, archive, monkeypatch):
    sets = [set_row(1, "a", ["b", "c"]), set_row(2, "d", ["e"])]
    in_memory = stage.run(sets, images_of(archive, 1, 2))[1]
    monkeypatch.setattr("crepebench.feature_reader.MOST_BYTES", 39)
    in_file = read_features(stage.index).matrix
    assert not isinstance(in_memory, np.memmap)
    assert isinstance(in_file, np.memmap)
    assert np.array_equal(in_memory, in_file)


def test_large_features_for_which_temporary_files_have_no_room_are_an_error(stage, archive, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    stage.run([set_row(1, "a", ["b", "c"])], images_of(archive, 1))
    monkeypatch.setattr("crepebench.feature_reader.MOST_BYTES", 7)
    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(OSError, match=r"No space left on device: .* bytes") as caught:
        read_features(stage.index)
    assert caught.value.filename == tempfile.gettempdir()
