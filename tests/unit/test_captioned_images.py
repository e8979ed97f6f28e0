"""Training data with images: a corpus, a user's table, tars of samples."""

import io
import tarfile
import zipfile

import pytest
from PIL import Image

from crepebench.captioned_images import CollidingNamesError, read_captioned_images


def png(colour: str = "red", size: tuple[int, int] = (4, 3)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, "PNG")
    return stream.getvalue()


def corpus(tmp_path, lines: list[str], members: dict[str, bytes]) -> dict:
    captions, images = tmp_path / "captions.tsv", tmp_path / "images.zip"
    captions.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with zipfile.ZipFile(images, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return {"name": "mine", "kind": "corpus", "format": "cc12m", "captions": [str(captions)], "images": str(images)}


def test_images_of_a_corpus_are_found_by_the_last_part_of_their_urls(tmp_path):
    lines = [
        "http://a/x/1.png\ta red jar",
        "http://a/x/2.png\ta blue jar",
        "http://a/3.png\tno file",
        "http://a/4.png\tx",
    ]
    source = corpus(tmp_path, lines, {"deep/1.png": png(), "2.png": png("blue"), "4.png": b"no image"})
    found = read_captioned_images(source)
    assert [caption for _, caption in found.captions] == ["a red jar", "a blue jar"]
    first = found.images[found.captions[0][0]]
    assert (first["path"], first["width"], first["height"]) == ("deep/1.png", 4, 3)
    assert found.counts == {"read": 4, "kept": 2, "image_missing": 1, "image_unreadable": 1}


def test_urls_that_end_in_one_name_are_an_error_that_names_both(tmp_path):
    source = corpus(tmp_path, ["http://a/1.png\ta jar", "http://b/1.png\ta cup"], {"1.png": png()})
    with pytest.raises(CollidingNamesError, match=r"http://a/1.png and http://b/1.png end in one name, 1.png"):
        read_captioned_images(source)


def test_different_files_of_one_name_are_an_error(tmp_path):
    source = corpus(tmp_path, ["http://a/1.png\ta jar"], {"a/1.png": png(), "b/1.png": png("blue")})
    with pytest.raises(CollidingNamesError, match=r"different files named 1.png: a/1.png, b/1.png"):
        read_captioned_images(source)


def test_paths_of_a_table_start_at_its_folder(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "1.png").write_bytes(png())
    (tmp_path / "b" / "1.png").write_bytes(png("blue", (5, 5)))
    table = tmp_path / "rows.csv"
    table.write_text("image,caption\na/1.png,a jar\nb/1.png,a cup\na/1.png,a jar\n,a pot\nb/1.png,\n", encoding="utf-8")
    found = read_captioned_images({"name": "mine", "kind": "table", "path": str(table)})
    assert [(found.images[i]["width"], caption) for i, caption in found.captions] == [(4, "a jar"), (5, "a cup")]
    assert found.counts == {"read": 5, "kept": 2, "row_repeated": 1, "image_not_named": 1, "caption_empty": 1}


def test_images_of_tars_are_copied_into_a_zip(tmp_path):
    path = tmp_path / "00000.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in {"1.jpg": png(), "1.txt": b"a jar", "2.txt": b"a cup", "3.png": png(), "3.txt": b" "}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    packed = tmp_path / "packed.zip"
    found = read_captioned_images({"name": "mine", "kind": "webdataset", "files": [str(path)]}, str(packed))
    (image,) = found.images.values()
    assert [caption for _, caption in found.captions] == ["a jar"]
    assert (image["archive"], image["path"]) == (str(packed), "00000.tar/1.jpg")
    assert found.counts == {"read": 3, "kept": 1, "image_missing": 1, "caption_empty": 1}


def test_a_source_of_which_nothing_can_be_used_stops(tmp_path):
    source = corpus(tmp_path, ["http://a/1.png\ta jar"], {"2.png": png()})
    with pytest.raises(ValueError, match="mine: no row with a caption and an image"):
        read_captioned_images(source)
