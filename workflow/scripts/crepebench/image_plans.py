"""Say exactly what a torchvision pipeline of preprocessing does, where an ImagePlan can."""

from crepebench.models import ImagePlan

TO_RGB = "MaybeConvertMode"
"""Open_clip's step that changes nothing in an RGB picture, which every crop is."""
TO_TENSOR = ("MaybeToTensor", "ToTensor")


def plan_of(preprocess) -> ImagePlan | None:
    """Returns the plan of a torchvision pipeline, or None if it has other steps, another order or other settings.

    Args:
        preprocess: `torchvision.transforms.Compose` of open_clip, or of the same kinds of steps.
    """
    from torchvision import transforms

    steps = [step for step in getattr(preprocess, "transforms", ()) if type(step).__name__ != TO_RGB]
    if len(steps) not in (3, 4) or type(steps[0]) is not transforms.Resize:
        return None
    resize, crops, to_tensor, normalise = steps[0], steps[1:-2], steps[-2], steps[-1]
    if type(to_tensor).__name__ not in TO_TENSOR or type(normalise) is not transforms.Normalize:
        return None
    interpolation = resize.interpolation.value
    if interpolation not in ("bicubic", "bilinear") or not resize.antialias or resize.max_size is not None:
        return None
    values = tuple(map(float, normalise.mean)), tuple(map(float, normalise.std))
    sides = (resize.size,) if isinstance(resize.size, int) else tuple(resize.size)
    if len(sides) == 2 and not crops:
        return ImagePlan(sides, "squash", interpolation, *values)
    is_central = len(crops) == 1 and type(crops[0]) is transforms.CenterCrop
    if len(sides) == 1 and is_central and tuple(crops[0].size) == sides * 2:
        return ImagePlan(sides * 2, "shortest", interpolation, *values)
    return None
