import csv
import json

import pytest

from crepebench.benchmark_items import ImageRef
from crepebench.benchmark_manifests import read_manifest
from crepebench.benchmark_readers import coco_retrieval, flickr30k_retrieval, negbench_retrieval
from crepebench.benchmark_retrieval import METRICS, RETRIEVE_CAPTION, RETRIEVE_IMAGE

COLUMNS = ("positive_objects", "negative_objects", "filepath", "image_id", "captions")


def image(name, split, *captions, **more):
    return {"filename": name, "split": split, "sentences": [{"raw": caption} for caption in captions], **more}


def karpathy_file(folder, *images):
    path = folder / "dataset.json"
    path.write_text(json.dumps({"images": images, "dataset": "coco"}), encoding="utf-8")
    return [str(path)]


def csv_file(folder, name, *rows):
    path = folder / name
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(("", "", filepath, "", captions) for filepath, captions in rows)
    return [str(path)]


def test_the_test_split_alone_is_read_with_all_captions(tmp_path):
    paths = karpathy_file(
        tmp_path,
        image("COCO_val2014_000000000001.jpg", "test", " A dog. ", "A cat,\nhere.", filepath="val2014"),
        image("COCO_train2014_000000000002.jpg", "train", "A bed.", filepath="train2014"),
        image("COCO_val2014_000000000003.jpg", "restval", "A bed.", filepath="val2014"),
    )
    items = list(coco_retrieval.read(paths, {}))
    assert {item.images for item in items} == {(ImageRef("coco_val2014", "COCO_val2014_000000000001.jpg"),)}
    assert {item.subset for item in items} == {"coco_5k"}
    assert [(item.task, item.captions) for item in items] == [
        ("retrieve_caption", ("A dog.", "A cat,\nhere.")),
        ("retrieve_image", ("A dog.",)),
        ("retrieve_image", ("A cat,\nhere.",)),
    ]


def test_flickr_has_no_folders(tmp_path):
    paths = karpathy_file(tmp_path, image("7.jpg", "test", "A dog."))
    item, _ = flickr30k_retrieval.read(paths, {})
    assert (item.subset, item.images[0].root) == ("flickr30k_1k", "flickr30k")
    item, _ = flickr30k_retrieval.read(paths, {"root": "elsewhere"})
    assert item.images[0].root == "elsewhere"


def test_captions_may_take_the_form_of_aro(tmp_path):
    paths = karpathy_file(tmp_path, image("7.jpg", "test", 'A "Dog": (black) #1. ' + "word " * 40))
    item, _ = flickr30k_retrieval.read(paths, {"caption_form": "aro"})
    assert item.captions[0].split() == ["a", "dog", "black", "1", *["word"] * 26]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no JSON"),
        ("[]", "list `images`"),
        ('{"images": [7]}', "image 0: no record"),
        ('{"images": [{"filename": "7.jpg", "split": "test", "sentences": []}]}', "image 0: sentences"),
        ('{"images": [{"filename": "7.jpg", "split": "test", "sentences": [{"raw": " "}]}]}', "image 0: a sentence"),
        ('{"images": [{"filename": "7.jpg", "split": "val"}]}', "no image is of the split 'test'"),
        ("\ud800", "UTF-8"),
    ],
)
def test_a_fault_of_the_splits_names_file_and_image(tmp_path, content, message):
    path = tmp_path / "dataset_flickr30k.json"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(ValueError, match=rf"dataset_flickr30k\.json.*{message}"):
        list(flickr30k_retrieval.read([str(path)], {}))


def test_an_unknown_form_and_two_files_are_errors(tmp_path):
    paths = karpathy_file(tmp_path, image("7.jpg", "test", "A dog."))
    with pytest.raises(ValueError, match="caption_form is 'upper'"):
        list(flickr30k_retrieval.read(paths, {"caption_form": "upper"}))
    with pytest.raises(ValueError, match="not 2"):
        list(flickr30k_retrieval.read(paths * 2, {}))


def test_pictures_of_negbench_are_named_without_the_folders_of_other_machines(tmp_path):
    paths = csv_file(tmp_path, "COCO_val_retrieval.csv", ("/data/x/val2017/000000000001.jpg", "['a', \"b's\"]"))
    items = list(negbench_retrieval.read(paths, {}))
    assert {item.images for item in items} == {(ImageRef("coco_val2017", "000000000001.jpg"),)}
    assert [(item.id, item.subset, item.captions) for item in items] == [
        ("COCO_val_retrieval/2/image/0", "coco", ("a",)),
        ("COCO_val_retrieval/2/image/1", "coco", ("b's",)),
    ]


def test_synthetic_pictures_of_one_name_are_two_pictures(tmp_path):
    rows = [("data/positive/7_img.png", "['a']"), ("data/negative/7_img.png", "['no a']")]
    items = negbench_retrieval.read(csv_file(tmp_path, "synthetic_retrieval_v2.csv", *rows), {})
    assert [item.images[0].root for item in items] == ["negbench_synthetic_positive", "negbench_synthetic_negative"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("1.jpg", "a dog"), "line 2, column captions: no list of texts: 'a dog'"),
        (("1.jpg", "[]"), "line 2, column captions"),
        (("1.jpg", "[7]"), "line 2, column captions"),
        (("1.jpg", "__import__('os').getcwd()"), "line 2, column captions"),
        (("", "['a']"), "line 2, filepath: names no image file: ''"),
        (("1.jpg", r"['\ud800']"), "line 2, column captions: no text in Unicode"),
    ],
)
def test_a_fault_of_negbench_names_file_line_and_value(tmp_path, row, message):
    with pytest.raises(ValueError, match=message.replace("[", r"\[").replace("(", r"\(")):
        list(negbench_retrieval.read(csv_file(tmp_path, "COCO_val_retrieval.csv", row), {}))


def test_a_synthetic_picture_in_another_folder_is_an_error(tmp_path):
    paths = csv_file(tmp_path, "synthetic_retrieval_v1.csv", ("data/other/7_img.png", "['a']"))
    with pytest.raises(ValueError, match=r"synthetic_retrieval_v1\.csv, line 2, filepath: .* none of positive, neg"):
        list(negbench_retrieval.read(paths, {}))


@pytest.mark.parametrize("reader", [coco_retrieval, flickr30k_retrieval, negbench_retrieval])
def test_an_unknown_option_is_an_error(tmp_path, reader):
    with pytest.raises(ValueError, match=r"has no option \['rot'\]"):
        list(reader.read([str(tmp_path / "file")], {"rot": "x"}))


def test_half_of_a_character_is_an_error(tmp_path):
    paths = karpathy_file(tmp_path, image("7.jpg", "test", "a \ud800"))
    with pytest.raises(ValueError, match=r"image 0: no text in Unicode"):
        list(flickr30k_retrieval.read(paths, {}))


@pytest.mark.parametrize(
    ("reader", "subsets"),
    [
        ("coco_retrieval", {"coco_5k": 5_000 + 25_010}),
        ("flickr30k_retrieval", {"flickr30k_1k": 1_000 + 5_000}),
    ],
)
def test_manifests_count_queries(repository, reader, subsets):
    manifest = read_manifest(str(repository / "resources" / "benchmarks" / f"{reader}.yaml"))
    assert manifest["subsets"] == subsets
    assert manifest["metrics"] == [*METRICS[RETRIEVE_CAPTION], *METRICS[RETRIEVE_IMAGE]]


def test_counts_of_negbench_are_the_published_ones(repository, shared_data):
    manifest = read_manifest(str(repository / "resources" / "benchmarks" / "negbench_retrieval.yaml"))
    with open(shared_data / "tables" / "negbench_retrieval_counts.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert manifest["files"][row["file"]]["rows"] == int(row["rows"])
        assert manifest["subsets"][negbench_retrieval.subset_of(row["file"])] == int(row["captions"])


def test_a_missing_column_and_an_unknown_file_are_errors(tmp_path):
    (tmp_path / "COCO_val_retrieval.csv").write_text("filepath\n1.jpg\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"columns \['captions'\] are missing"):
        list(negbench_retrieval.read([str(tmp_path / "COCO_val_retrieval.csv")], {}))
    paths = csv_file(tmp_path, "mine.csv", ("1.jpg", "['a']"))
    with pytest.raises(ValueError, match="give the option `root`"):
        list(negbench_retrieval.read(paths, {}))
    (item,) = negbench_retrieval.read(paths, {"root": "mine"})
    assert (item.subset, item.images[0].root) == ("mine", "mine")


@pytest.mark.parametrize(
    ("name", "subset", "n_captions", "root"),
    [
        ("COCO_val_retrieval", "coco", 100, "coco_val2017"),
        ("COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true", "coco_negated", 100, "coco_val2017"),
        ("COCO_val_negated_retrieval_template", "coco_negated_template", 100, "coco_val2017"),
        ("msr_vtt_retrieval", "msr_vtt", 20, "msr_vtt"),
        ("msr_vtt_retrieval_rephrased_llama", "msr_vtt_negated", 20, "msr_vtt"),
        ("synthetic_retrieval_v1", "synthetic_v1", 20, "negbench_synthetic_positive"),
        ("synthetic_retrieval_v2", "synthetic_v2", 20, "negbench_synthetic_negative"),
    ],
)
def test_samples_of_negbench_are_read(shared_data, name, subset, n_captions, root):
    path = shared_data / "benchmarks" / "negbench" / f"{name}.sample.csv"
    items = list(negbench_retrieval.read([str(path)], {}))
    assert ({item.subset for item in items}, len({item.images for item in items})) == ({subset}, 20)
    assert len(items) == n_captions
    assert {item.task for item in items} == {"retrieve_image"}
    n_with_cue = sum(item.tags == {"with_cue": subset} for item in items)
    assert n_with_cue > 0.4 * n_captions if "negated" in subset or subset.endswith("v2") else n_with_cue <= 1
    assert items[0].images[0].root == root
