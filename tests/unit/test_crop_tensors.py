import numpy as np
import pytest
from PIL import Image

from crepebench.crop_tensors import CropTensors, follows_plan, layout_of
from crepebench.models import ImagePlan

MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
SIZES = [(97, 61), (61, 97), (400, 100), (100, 400), (32, 32), (33, 32), (20, 11), (300, 300), (501, 375), (225, 224)]


class FakeModel:
    def __init__(self, preprocess, plan):
        self.preprocess, self.image_plan = preprocess, plan


def transform(side, mode, interpolation):
    """The preprocessing that a config of open_clip makes."""
    from open_clip.transform import image_transform

    return image_transform(side, is_train=False, mean=MEAN, std=STD, resize_mode=mode, interpolation=interpolation)


def plan(side, mode="shortest", interpolation="bicubic"):
    return ImagePlan((side, side), mode, interpolation, MEAN, STD)


def picture(size, seed=0, hard_edge=True):
    """A picture with soft edges as in a photograph, and with a hard one to white."""
    rng = np.random.default_rng([seed, *size])
    coarse = rng.integers(0, 256, (size[1] // 9 + 2, size[0] // 9 + 2, 3)).astype(np.uint8)
    pixels = np.asarray(Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)).astype(int)
    if hard_edge:
        pixels[: size[1] // 3, : size[0] // 2] = 255
    return Image.fromarray(np.clip(pixels + rng.integers(-9, 9, pixels.shape), 0, 255).astype(np.uint8))


def boxes_of(size):
    width, height = size
    return [(0, 0, width, height), (3, 2, width - 5, height - 4), (width // 2, 0, width - width // 2, height)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", ["shortest", "squash"])
@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear"])
@pytest.mark.parametrize("side", [32, 224])
def test_exact_tensors_are_those_of_the_models_own_preprocessing(size, mode, interpolation, side):
    own = transform(side, mode, interpolation)
    tensors = CropTensors(FakeModel(own, plan(side, mode, interpolation)), "exact")
    whole, boxes = picture(size), boxes_of(size)
    for (x, y, width, height), found in zip(boxes, tensors.of(whole, boxes), strict=True):
        expected = own(whole.crop((x, y, x + width, y + height)))
        assert found.dtype == expected.dtype
        assert np.array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", ["shortest", "squash"])
@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear"])
@pytest.mark.parametrize(("hard_edge", "most"), [(False, 2), (True, 4)])
def test_fast_tensors_are_within_two_steps_of_the_exact_ones_or_four_at_edges(
    size, mode, interpolation, hard_edge, most
):
    model = FakeModel(transform(32, mode, interpolation), plan(32, mode, interpolation))
    exact, fast = (CropTensors(model, pipeline) for pipeline in ("exact", "fast"))
    assert fast.pipeline == "fast"
    whole, boxes = picture(size, hard_edge=hard_edge), boxes_of(size)
    for one, other in zip(exact.of(whole, boxes), fast.of(whole, boxes), strict=True):
        assert one.shape == other.shape == (3, 32, 32)
        steps = np.abs(one.numpy() - other.numpy()) * np.array(STD)[:, None, None] * 255
        assert steps.max() < most + 0.001
        assert steps.mean() < 0.5


@pytest.mark.parametrize("pipeline", ["exact", "fast"])
def test_model_without_a_plan_goes_through_its_own_preprocessing(pipeline, caplog):
    tensors = CropTensors(FakeModel(lambda crop: crop.size, None), pipeline)
    assert tensors.of(picture((64, 48)), [(1, 2, 30, 20)]) == [(30, 20)]
    assert tensors.pipeline == "exact"
    assert ("has no fast form" in caplog.text) == (pipeline == "fast")


@pytest.mark.parametrize(
    "wrong",
    [
        plan(32, "squash"),
        plan(32, interpolation="bilinear"),
        plan(32)._replace(mean=(0.5, 0.5, 0.5)),
        plan(32)._replace(std=(0.5, 0.5, 0.5)),
        plan(33),
    ],
    ids=["mode", "interpolation", "mean", "std", "size"],
)
def test_plan_that_is_not_the_preprocessing_is_not_followed(wrong, caplog):
    own = transform(32, "shortest", "bicubic")
    assert follows_plan(own, plan(32))
    assert not follows_plan(own, wrong)
    tensors = CropTensors(FakeModel(own, wrong), "fast")
    assert tensors.pipeline == "exact"
    assert "is not exact" in caplog.text
    whole = picture((97, 61))
    assert np.array_equal(tensors.of(whole, [(0, 0, 97, 61)])[0].numpy(), own(whole).numpy())


@pytest.mark.parametrize("pipeline", ["exact", "fast"])
@pytest.mark.parametrize("box", [(0, 0, 65, 48), (-1, 0, 9, 9), (0, 40, 9, 9), (3, 3, 0, 9)])
def test_box_that_is_not_within_the_picture_is_an_error(pipeline, box):
    tensors = CropTensors(FakeModel(transform(32, "shortest", "bicubic"), plan(32)), pipeline)
    with pytest.raises(ValueError, match="is not within the picture"):
        tensors.of(picture((64, 48)), [box])


@pytest.mark.parametrize(
    ("mode", "size", "layout"),
    [
        ("shortest", (400, 100), (896, 224, 336, 0)),
        ("shortest", (100, 401), (224, 898, 0, 337)),
        ("shortest", (100, 100), (224, 224, 0, 0)),
        ("squash", (400, 100), (224, 224, 0, 0)),
    ],
)
def test_layout_follows_the_shorter_side_or_neither(mode, size, layout):
    assert tuple(layout_of(plan(224, mode), *size)) == layout
