import io
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from crepebench.batch_sizes import BatchSizer
from crepebench.crop_tensors import CropTensors
from crepebench.encoding import SharedImageReader, describe_texts, encode_crops, encode_texts
from crepebench.feature_index import crop_key, text_id
from crepebench.feature_store import FeatureStore

from .fake_encoder import LIMIT, FakeEncoder, vector_of

SIZE = (40, 30)


@pytest.fixture
def store(tmp_path):
    return FeatureStore(str(tmp_path / "store"), "fake-1")


class SmallGpu(FakeEncoder):
    """An encoder whose memory holds three texts or crops."""

    def encode_tokens(self, tokens):
        self._check(len(tokens.ids))
        return super().encode_tokens(tokens)

    def encode_images(self, images):
        self._check(len(images))
        return super().encode_images(images)

    def _check(self, size):
        import torch

        if size > 3:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")


def read(store, keys):
    places = store.find(keys)
    return store.read([places[key] for key in keys])


@pytest.mark.parametrize("encoder", [FakeEncoder, SmallGpu])
@pytest.mark.parametrize(("n_texts", "batch_size", "batches"), [(11, 4, [4, 4, 3]), (4, 4, [4]), (1, 4, [1])])
def test_batches_hold_texts_of_like_length(store, n_texts, batch_size, batches, encoder):
    encoder = encoder()
    texts = ["x" * (7 * i % 11 + 1) for i in range(n_texts)]
    encode_texts(texts, encoder, store, BatchSizer(batch_size, 1))
    if type(encoder) is FakeEncoder:
        assert encoder.batches == batches
    assert list(map(len, encoder.texts)) == sorted(map(len, texts))
    assert np.array_equal(read(store, list(map(text_id, texts))), np.stack([vector_of(t) for t in texts]))


def test_batches_are_sorted_by_tokens_not_by_letters(store):
    class WordEncoder(FakeEncoder):
        """Counts words as tokens."""

        def tokenise(self, texts):
            return super().tokenise(texts)._replace(n_tokens=np.array([len(text.split()) for text in texts]))

    encoder = WordEncoder()
    encode_texts(["a b c", "abcdefgh", "a bcdef"], encoder, store, BatchSizer(1, 1))
    assert encoder.texts == ["abcdefgh", "a bcdef", "a b c"]


def test_shards_split_texts_without_loss(store, monkeypatch):
    monkeypatch.setattr("crepebench.encoding.TEXTS_PER_SHARD", 4)
    texts = [f"text {i}" for i in range(11)]
    encode_texts(texts, FakeEncoder(), store, BatchSizer(3, 1))
    assert len(list(store.folder.iterdir())) == 3
    assert set(store.find(map(text_id, texts))) == set(map(text_id, texts))


@pytest.mark.parametrize(
    "describe",
    [
        lambda texts, encoder, store: encode_texts(texts, encoder, store, BatchSizer(2, 1)),
        lambda texts, encoder, _store: describe_texts(texts, encoder),
    ],
    ids=["encoded", "only tokenised"],
)
def test_tokens_of_texts_are_described(store, describe):
    long = "x" * LIMIT
    rows = describe(["short", long, f"{long}y", f"{long}zz"], FakeEncoder(), store)
    assert {text: (row.n_tokens, row.is_cut) for text, row in rows.items()} == {
        "short": (5, False),
        long: (LIMIT, False),
        f"{long}y": (LIMIT + 1, True),
        f"{long}zz": (LIMIT + 2, True),
    }
    assert rows[f"{long}y"].tokens_id == rows[f"{long}zz"].tokens_id == rows[long].tokens_id != rows["short"].tokens_id


def test_texts_that_are_only_described_are_not_encoded():
    encoder = FakeEncoder()
    describe_texts(["a", "b"], encoder)
    assert encoder.texts == []


@pytest.fixture
def images(tmp_path):
    """Rows of ten images in a zip, of which the fourth is cut off."""
    rows = {}
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        for image_id in range(10):
            buffer = io.BytesIO()
            Image.new("RGB", SIZE, (20 * image_id, 3 * image_id, 99)).save(buffer, "PNG")
            data = buffer.getvalue() if image_id != 3 else buffer.getvalue()[:40]
            archive.writestr(f"{image_id}.png", data)
            place = {"archive": str(tmp_path / "images.zip"), "path": f"{image_id}.png", "crc32": zlib.crc32(data)}
            rows[image_id] = {"image_id": image_id, "width": SIZE[0], "height": SIZE[1], **place}
    return rows


def crops_of(images):
    return [(image_id, (x, 2, 20, 9)) for image_id in images for x in range(image_id % 4 + 1)]


def expected_of(images, crops, encoder):
    with SharedImageReader() as reader:
        for image_id, (x, y, width, height) in crops:
            picture = reader.read(images[image_id]).picture.crop((x, y, x + width, y + height))
            yield encoder.preprocess(picture).numpy()


@pytest.mark.parametrize("encoder", [FakeEncoder, SmallGpu])
@pytest.mark.parametrize(("batch_size", "n_loaders", "per_shard"), [(1, 1, 1000), (4, 1, 3), (7, 3, 4), (64, 4, 1)])
def test_every_crop_gets_its_feature_whatever_the_batches_loaders_and_shards(
    store, images, monkeypatch, encoder, batch_size, n_loaders, per_shard
):
    monkeypatch.setattr("crepebench.encoding.IMAGES_PER_SHARD", per_shard)
    encoder, crops = encoder(), crops_of(images)
    tensors = CropTensors(encoder, "exact")
    problems = encode_crops(crops, images, encoder, store, BatchSizer(batch_size, 1), tensors, n_loaders)
    assert problems == {crop: "image_unreadable" for crop in crops if crop[0] == 3}
    good = [crop for crop in crops if crop[0] != 3]
    assert encoder.n_images == len(good)
    keys = [crop_key(images[image_id], box, "exact") for image_id, box in good]
    assert np.array_equal(read(store, keys), np.stack(list(expected_of(images, good, encoder))))


def test_shards_do_not_depend_on_the_number_of_loaders(tmp_path, images):
    names = []
    for n_loaders in (1, 4):
        store = FeatureStore(str(tmp_path / str(n_loaders)), "fake-1")
        encoder = FakeEncoder()
        encode_crops(
            crops_of(images), images, encoder, store, BatchSizer(5, 1), CropTensors(encoder, "exact"), n_loaders
        )
        names.append(sorted(path.name for path in store.folder.iterdir()))
    assert names[0] == names[1]


def test_image_is_decoded_once_for_all_its_crops(store, images, monkeypatch):
    read_ids = []
    original = SharedImageReader.read

    def counting_read(self, image):
        read_ids.append(image["image_id"])
        return original(self, image)

    monkeypatch.setattr(SharedImageReader, "read", counting_read)
    encoder = FakeEncoder()
    encode_crops(crops_of(images), images, encoder, store, BatchSizer(2, 1), CropTensors(encoder, "exact"), 2)
    assert sorted(read_ids) == sorted(images)


def test_fault_that_is_not_the_images_names_the_image(store, images):
    encoder = FakeEncoder()
    images[5]["archive"] = "gone.zip"
    with pytest.raises(FileNotFoundError) as error:
        encode_crops(crops_of(images), images, encoder, store, BatchSizer(2, 1), CropTensors(encoder, "exact"), 2)
    assert error.value.__notes__ == ["image 5 (5.png in gone.zip)"]


def test_progress_says_how_many_a_second(store, images, caplog):
    caplog.set_level("INFO")
    encoder = FakeEncoder()
    encode_texts(["a", "b"], encoder, store, BatchSizer(2, 1))
    encode_crops(crops_of(images), images, encoder, store, BatchSizer(2, 1), CropTensors(encoder, "exact"), 1)
    assert "2 of 2 texts done, " in caplog.text
    assert "10 of 10 images done, " in caplog.text
    assert " a second" in caplog.text


@pytest.fixture(scope="module")
def small_clip():
    """A small CLIP with random weights."""
    import open_clip
    import torch
    from open_clip.transform import image_transform

    from crepebench.open_clip_models import OpenClipModel

    torch.manual_seed(3)
    torch.set_num_threads(1)
    model = open_clip.CLIP(
        embed_dim=16,
        vision_cfg={"image_size": 32, "layers": 2, "width": 32, "patch_size": 16, "head_width": 16},
        text_cfg={"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2},
    )
    return OpenClipModel(model, image_transform(32, is_train=False), open_clip.get_tokenizer("ViT-B-32"), "cpu")


@pytest.mark.parametrize("batch_size", [2, 7, 64])
def test_features_of_a_network_do_not_depend_on_the_batch_size(tmp_path, images, small_clip, batch_size):
    texts = [f"{'a very small ' * (i % 4)}jar beside {i} boxes" for i in range(11)]
    good = [crop for crop in crops_of(images) if crop[0] != 3]
    keys = [*map(text_id, texts), *(crop_key(images[image_id], box, "exact") for image_id, box in good)]
    found = []
    for size in (1, batch_size):
        store = FeatureStore(str(tmp_path / str(size)), "clip")
        encode_texts(texts, small_clip, store, BatchSizer(size, 1))
        encode_crops(good, images, small_clip, store, BatchSizer(size, 1), CropTensors(small_clip, "exact"), 1)
        found.append(read(store, keys))
    assert np.abs(np.linalg.norm(found[0], axis=1) - 1).max() < 1e-6
    assert (found[0] * found[1]).sum(axis=1).min() > 0.9999
    assert np.abs(found[0] - found[1]).max() < 1e-5


def test_zero_is_never_kept_as_a_feature(store, images, small_clip):
    from crepebench.models import FeatureError

    class Blind(type(small_clip)):
        """Sees nothing."""

        def image_features(self, images):
            return super().image_features(images) * 0

    blind = object.__new__(Blind)
    blind.__dict__.update(small_clip.__dict__)
    with pytest.raises(FeatureError, match="are zero"):
        encode_crops([(1, (0, 0, 9, 9))], images, blind, store, BatchSizer(2, 1), CropTensors(blind, "exact"), 1)
    assert not store.folder.exists()
