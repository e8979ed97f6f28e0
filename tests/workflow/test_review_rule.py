import json
import shutil
from collections import Counter

from .conftest import assert_ok, run_snakemake

PAGE, SAMPLE = "results/review/index.html", "results/review/sample.json"


def test_a_run_gives_a_page_of_its_sets_captions_and_corpora(tiny_run, checkout, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(tiny_run, folder)
    assert_ok(run_snakemake(folder, PAGE, "--cores", "1", root=checkout))
    sample = json.loads((folder / SAMPLE).read_text(encoding="utf-8"))
    counts = Counter(item["kind"] for item in sample["items"])
    assert counts["set"] >= 40 and counts["caption"] == 20 and 50 <= counts["parser"] <= 60
    families = Counter(item["family"] for item in sample["items"] if item["kind"] == "set")
    assert min(families.values()) >= 20
    assert sample["sample_id"] in (folder / PAGE).read_text(encoding="utf-8")
