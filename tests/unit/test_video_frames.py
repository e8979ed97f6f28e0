import numpy as np
import pytest

from crepebench.accounting import KEPT, READ
from crepebench.benchmark_items import ImageRef
from crepebench.benchmark_pools import score_pools
from crepebench.pooled_features import add_clips, frame_images, picture_id
from crepebench.video_frames import (
    VIDEO_MISSING,
    VIDEO_UNREADABLE,
    BadVideoError,
    extract_frames,
    frame_names,
    lay_frames,
    middle_frames,
    read_frames,
    write_frames,
)

from .retrieval_rows import features_for, means_of, rows_of_pictures

av = pytest.importorskip("av")
SIDE = 32


def write_clip(path, colours, codec="ffv1", pix_fmt="yuv444p"):
    """Writes a clip, each frame of one colour."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10)
        stream.width = stream.height = SIDE
        stream.pix_fmt = pix_fmt
        for colour in colours:
            pixels = np.full((SIDE, SIDE, 3), colour, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    return str(path)


def levels(pictures):
    """The mean of each picture."""
    return [float(np.asarray(picture).mean()) for picture in pictures]


def test_frames_are_the_middles_of_four_equal_intervals(tmp_path):
    clip = write_clip(tmp_path / "clip.mkv", [10 * number for number in range(20)])
    assert middle_frames(20) == [2, 7, 12, 17]
    assert levels(read_frames(clip)) == pytest.approx([20, 70, 120, 170], abs=3)


@pytest.mark.parametrize(
    ("n_frames", "expected"),
    [(1, [0, 0, 0, 0]), (2, [0, 0, 1, 1]), (4, [0, 1, 2, 3]), (8, [0, 2, 4, 6]), (10, [0, 3, 5, 8])],
)
def test_middles_of_short_clips_and_odd_numbers(n_frames, expected):
    assert middle_frames(n_frames) == expected


@pytest.mark.parametrize("n_frames", range(1, 60))
def test_middles_are_frames_of_the_clip_in_their_order(n_frames):
    found = middle_frames(n_frames)
    assert found == sorted(found)
    assert set(found) <= set(range(n_frames))


def test_a_codec_with_frames_out_of_order_gives_them_in_the_order_shown(tmp_path):
    clip = write_clip(tmp_path / "clip.mp4", [6 * number for number in range(40)], "libx264", "yuv420p")
    assert levels(read_frames(clip)) == pytest.approx([24, 84, 144, 204], abs=8)


def test_frames_are_written_as_pictures_without_loss(tmp_path):
    from PIL import Image

    clip = write_clip(tmp_path / "clip.mkv", [0, 80, 160, 240])
    paths = write_frames(clip, str(tmp_path / "frames"))
    assert [path.rsplit("/", 1)[1] for path in paths] == list(frame_names("clip.mkv"))
    for path, picture in zip(paths, read_frames(clip), strict=True):
        assert np.array_equal(np.asarray(Image.open(path)), np.asarray(picture))


def test_clips_without_frames_are_counted_by_reason(tmp_path):
    (tmp_path / "deep").mkdir()
    write_clip(tmp_path / "deep" / "good.mkv", [0, 80])
    (tmp_path / "bad.mp4").write_bytes(b"no clip" * 100)
    names = ["all/good.mkv", "good.mkv", "bad.mp4", "lost.mp4", "picture.jpg"]
    problems, counts = extract_frames([str(tmp_path)], names, str(tmp_path / "frames"))
    assert problems == {"bad.mp4": VIDEO_UNREADABLE, "lost.mp4": VIDEO_MISSING}
    assert counts == {READ: 3, KEPT: 1, VIDEO_UNREADABLE: 1, VIDEO_MISSING: 1}
    assert sorted(path.name for path in (tmp_path / "frames").iterdir()) == list(frame_names("good.mkv"))


def test_a_damaged_clip_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "clip.mp4"
    write_clip(path, [6 * number for number in range(40)], "libx264", "yuv420p")
    path.write_bytes(path.read_bytes()[:600])
    with pytest.raises(BadVideoError, match=r"clip\.mp4"):
        read_frames(str(path))
    with pytest.raises(FileNotFoundError):
        read_frames(str(tmp_path / "lost.mp4"))


def test_a_sound_file_is_an_error(tmp_path):
    path = str(tmp_path / "sound.mkv")
    with av.open(path, "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), layout="mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(BadVideoError, match="no video stream"):
        read_frames(path)


def test_roots_of_clips_are_exchanged_for_those_of_their_frames(tmp_path):
    write_clip(tmp_path / "a.mkv", [0, 80])
    refs = [ImageRef("clips", "x/a.mkv"), ImageRef("pictures", "b.jpg"), ImageRef("not_configured", "c.mp4")]
    roots = {"clips": [str(tmp_path)], "pictures": ["p"]}
    found, counts = lay_frames(refs, roots, str(tmp_path / "frames"))
    assert found == {"clips": [str(tmp_path / "frames" / "clips")], "pictures": ["p"]}
    assert counts == {"clips": {READ: 1, KEPT: 1}}
    assert all((tmp_path / "frames" / "clips" / name).is_file() for name in frame_names("a.mkv"))
    assert lay_frames([ImageRef("pictures", "b.jpg")], roots, str(tmp_path / "none")) == (roots, {})
    assert not (tmp_path / "none").exists()
    with pytest.raises(ValueError, match=r"root clips: .*clips\.zip is none"):
        lay_frames(refs, {"clips": ["clips.zip"]}, str(tmp_path))


def test_clips_of_one_name_are_an_error(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "clip.mp4").write_bytes(b"")
    with pytest.raises(ValueError, match=r"two clips have one name: .*a/clip\.mp4 and .*b/clip\.mp4"):
        extract_frames([str(tmp_path)], ["clip.mp4"], str(tmp_path / "frames"))


def test_a_clip_has_the_mean_feature_of_its_frames():
    rows = rows_of_pictures({"a.mp4": ["mean"], "b.jpg": ["first"]})
    frames = [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]]
    features = features_for({"a.mp4": frames, "b.jpg": [1, 0, 0.1]}, {"mean": [1, 1, 0], "first": [1, 0, 0.2]})
    found = add_clips(rows, features)
    clip = found.matrix[found.rows_of("crop", [picture_id(rows[0]["images"][0])])[0]]
    assert clip == pytest.approx([2**-0.5, 2**-0.5, 0])
    assert set(means_of(score_pools(rows, found)).values()) == {100.0}
    assert len(found.matrix) == len(found.tokens) == len(found.is_cut) == len(features.matrix) + 1


def test_features_without_clips_stay_as_they_are():
    features = features_for({"b.jpg": [1, 0]}, {"b": [1, 0]})
    assert add_clips(rows_of_pictures({"b.jpg": ["b"]}), features) is features


def test_frames_of_a_clip_are_encoded_in_its_place():
    ((clip,), (picture,)) = (row["images"] for row in rows_of_pictures({"a.mp4": ["a"], "b.jpg": ["b"]})[::2])
    assert frame_images(picture) == [picture]
    assert [frame["name"] for frame in frame_images(clip)] == list(frame_names("a.mp4"))
    assert len({frame["image_id"] for frame in frame_images(clip)} | {clip["image_id"]}) == 5


def test_a_clip_lacks_a_feature_where_one_of_its_frames_does():
    rows = rows_of_pictures({"a.mp4": ["a"], "b.jpg": ["b"]})
    features = features_for({"a.mp4": [[1, 0]] * 4, "b.jpg": [0, 1]}, {"a": [1, 0], "b": [0, 1]})
    lost = picture_id(frame_images(rows[0]["images"][0])[2])
    features.rows["crop"].pop(lost)
    features.reasons[lost] = "image_unreadable"
    reasons = {row["item_id"]: row["reason"] for row in score_pools(rows, add_clips(rows, features))}
    lost_items = {"a.mp4/captions": "image_unreadable", "a.mp4/image/0": "image_unreadable"}
    assert reasons == {**lost_items, "b.jpg/captions": "", "b.jpg/image/0": ""}


def test_frames_that_cancel_out_are_an_error():
    rows = rows_of_pictures({"a.mp4": ["a"]})
    features = features_for({"a.mp4": [[1, 0], [-1, 0], [1, 0], [-1, 0]]}, {"a": [1, 0]})
    with pytest.raises(ValueError, match=r"clip root/a\.mp4: the mean of 4 features has length 0"):
        add_clips(rows, features)
