import numpy as np
import pytest
import torch
from PIL import Image

from crepebench.clic_images import ImageJoiner, JoinedImageError, is_wider
from crepebench.clic_settings import VARIANTS
from crepebench.models import ImagePlan

RED, BLUE = (200, 0, 0), (0, 0, 100)
METHOD = VARIANTS["clic"]


def plan(height=224, width=224):
    return ImagePlan((height, width), "shortest", "bicubic", (0.5, 0.4, 0.3), (0.1, 0.2, 0.3))


def joined(size, wider):
    joiner = ImageJoiner(plan(), METHOD)
    return joiner.join(*(joiner.half(Image.new("RGB", size, colour), wider) for colour in (RED, BLUE)))


@pytest.mark.parametrize("size", [(300, 100), (100, 100), (37, 41)])
def test_wide_images_stand_one_above_the_other(size):
    pixels = joined(size, wider=True)
    assert pixels.shape == (224, 224, 3)
    assert (pixels[:112] == RED).all()
    assert (pixels[112:] == BLUE).all()


def test_high_images_stand_side_by_side():
    pixels = joined((90, 200), wider=False)
    assert pixels.shape == (224, 224, 3)
    assert (pixels[:, :112] == RED).all()
    assert (pixels[:, 112:] == BLUE).all()


def test_each_image_fills_its_half_whole():
    picture = Image.new("RGB", (400, 20), RED)
    picture.paste(BLUE, (200, 0, 400, 20))
    half = ImageJoiner(plan(), METHOD).half(picture, wider=True)
    assert half.shape == (112, 224, 3)
    assert (half[:, :100] == RED).all()
    assert (half[:, 124:] == BLUE).all()


def test_a_square_counts_as_wide():
    assert [is_wider({"width": width, "height": 10}) for width in (9, 10, 11)] == [False, True, True]


def test_joined_images_are_normalised_by_the_model_or_by_imagenet():
    pixels = torch.full((2, 224, 224, 3), 255, dtype=torch.uint8)
    own = ImageJoiner(plan(), METHOD._replace(norm="clip")).normalise(pixels)
    assert own.shape == (2, 3, 224, 224)
    np.testing.assert_allclose(own[0, :, 0, 0], [5.0, 3.0, 0.7 / 0.3], rtol=1e-6)
    imagenet = ImageJoiner(plan(), METHOD._replace(norm="imagenet")).normalise(pixels)
    np.testing.assert_allclose(imagenet[0, :, 0, 0], [0.515 / 0.229, 0.544 / 0.224, 0.594 / 0.225], rtol=1e-6)


@pytest.mark.parametrize(
    ("of", "message"),
    [(None, "usual ones"), (plan(224, 200), "224 x 200"), (plan(225, 225), "225 x 225")],
)
def test_models_that_take_no_even_squares_are_refused(of, message):
    with pytest.raises(JoinedImageError, match=message):
        ImageJoiner(of, METHOD)


def test_halves_of_different_classes_are_not_joined():
    joiner = ImageJoiner(plan(), METHOD)
    picture = Image.new("RGB", (10, 10))
    with pytest.raises(JoinedImageError, match="cannot be joined"):
        joiner.join(joiner.half(picture, True), joiner.half(picture, False))
