from crepebench.families import FOIL_TYPES
from crepebench.gallery_report import REPORT_BYTES
from crepebench.schema import RETRIEVAL_SETS, SCORES, read_table
from tests.unit.gallery_files import data_of


def test_the_gallery_of_a_run_agrees_with_its_scores_and_fits_the_report(tiny_run):
    results = tiny_run / "results"
    data = data_of(results / "gallery" / "index.html")
    assert len(data["sets"]) == 400
    assert data["models"] == [f"mini_clip_{name}" for name in ("cc12m", "yfcc15m", "laion400m")]
    scores = {
        (family, model): {
            (row["set_id"], row["foil_type"]): row
            for row in read_table(results / "scores" / model / f"{family}.parquet", SCORES).to_pylist()
        }
        for family in FOIL_TYPES
        for model in data["models"]
    }
    for family in data["families"]:
        parts = sorted((results / "retrieval_sets" / family["name"]).glob("*.parquet"))
        assert family["n_sets"] == sum(len(read_table(path, RETRIEVAL_SETS)) for path in parts)
        found = [scores[family["name"], model] for model in data["models"]]
        assert family["n_scored"] == sum(any(not rows[key]["reason"] for rows in found) for key in found[0])
    for entry in data["sets"]:
        for model, score in zip(data["models"], entry["scores"], strict=True):
            row = scores[entry["family"], model][entry["set_id"], entry["foil_type"]]
            assert score.get("rank") == row["rank"] and score.get("wins") == row["wins"]
        assert entry["crop"] is not None
    assert all("uri" in image for image in data["images"].values())
    small = results / "gallery" / "report.html"
    assert small.stat().st_size <= REPORT_BYTES
    assert 100 < len(data_of(small)["sets"]) <= 400
