import csv
import re

import yaml

from .conftest import ROOT, assert_ok, run_snakemake

NOT_IN_ALL = (
    *("build_region_graphs", "download_file", "validate_visual_genome_files", "plan", "prune_stores"),
    "fetch_weights",
    *("tabulate_icons_control", "tabulate_image_problems", "validate_images"),
    *("build_test_keys", "build_first_wave", "build_next_wave", "build_candidate_counts", "build_draws"),
    *("parse_candidates", "build_candidate_vocabulary", "score_foils", "score_entailment"),
    *("build_released_sets", "build_released_splits", "build_released_flags", "tabulate_released"),
    *("write_crepe_csv", "write_datasets_folder", "write_webdataset", "build_own_sets", "tabulate_own_captions"),
    *("build_review_page", "tabulate_human_review"),
    *("lay_zero_shot_pictures", "build_benchmark_items", "score_benchmark", "audit_benchmark", "tabulate_benchmarks"),
    *("build_negation_data", "build_released_negation_data", "build_negation_benchmark"),
    *("analyse_layers", "plot_layers", "extract_negation_features", "train_peakpatch", "plot_learning_curves"),
    *("score_image_controls", "tabulate_negation", "write_correction_examples", "plot_correction"),
    *("tabulate_judged_prompts", "set_layers", "tabulate_sweep", "plot_sweep"),
    *("build_clic_data", "build_clic_candidates", "write_clic_negatives", "extract_clic_vision"),
    *("train_clic", "tabulate_clic", "plot_clic", "export_clic"),
    *("build_parser_review", "tabulate_thinned_gap", "plot_thinned_gap", "tabulate_model_comparison"),
)
"""Rules that run only if they, their outputs or a config key name them; the picture of the DAG leaves them out."""

NEVER_AGAIN = ("download_file", "fetch_weights")
"""Rules that run only if their output is not there: no edit of code or config may fetch gigabytes again."""
IMAGES = ("images.zip", "images2.zip")
ANNOTATIONS = (
    *("image_data.json.zip", "objects_v1_2.json.zip", "attributes.json.zip"),
    *("relationships_v1_2.json.zip", "region_descriptions.json.zip"),
)


def test_dry_run_of_the_default_config_plans_the_main_job(tmp_path):
    done = run_snakemake(tmp_path, "-n", "--cores", "8", "results/tables/systematicity.csv", overlay=None)
    assert_ok(done)
    assert "tabulate_systematicity" in done.stdout


def test_lint_has_no_findings():
    done = run_snakemake(ROOT, "--lint", overlay=None)
    assert done.returncode == 0, done.stdout + done.stderr


def test_at_most_25_jobs_load_spacy_or_open_clip(tmp_path):
    done = run_snakemake(
        tmp_path, "-n", "--quiet", "rules", "--cores", "2", "results/tables/systematicity.csv", overlay=None
    )
    assert_ok(done)
    stats = [line.split() for line in done.stdout.splitlines()]
    counts = {fields[0]: int(fields[1]) for fields in stats if len(fields) == 2 and fields[1].isdecimal()}
    heavy = ("parse_corpus", "parse_regions", "train_icons_model", "extract_features")
    assert 0 < sum(counts[rule] for rule in heavy) <= 25


def test_an_unknown_config_key_stops_the_run_and_is_named(tmp_path):
    overlay = tmp_path / "typo.yaml"
    overlay.write_text("regions:\n  min_aera: 1\n")
    done = run_snakemake(tmp_path, "-n", overlay=overlay)
    assert done.returncode != 0
    assert "min_aera" in done.stdout + done.stderr


def test_a_model_that_is_not_defined_stops_the_run_and_is_named(tmp_path):
    overlay = tmp_path / "model.yaml"
    overlay.write_text("models:\n  use: [no_such_model]\n")
    done = run_snakemake(tmp_path, "-n", overlay=overlay)
    assert done.returncode != 0
    assert "no_such_model" in done.stdout + done.stderr


def test_every_rule_logs_and_carries_the_digest_of_its_code():
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        rules = path.read_text().split("\nrule ")[1:]
        for rule in rules:
            name = rule.partition(":")[0]
            assert "results/logs/" + name in rule, name
            if name not in NEVER_AGAIN:
                assert f'code=code_digest("{name}.py")' in rule, name
            assert f'"../scripts/{name}.py"' in rule, name


def test_the_environment_for_conda_is_the_one_of_pip():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    lines = (line.partition("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines())
    assert environment["dependencies"][-1] == {"pip": [line for line in lines if line]}


def test_a_damaged_zip_is_named_in_the_error(tmp_path):
    source = tmp_path / "visual_genome"
    source.mkdir()
    for name in (*ANNOTATIONS, *IMAGES):
        (source / name).write_bytes(b"no zip at all")
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(f"visual_genome:\n  source: {source}\n")
    done = run_snakemake(tmp_path, "--cores", "1", "results/visual_genome/images.parquet", overlay=overlay)
    assert done.returncode != 0
    assert "image_data.json.zip is not image_data.json.zip: it is no zip: it starts with" in done.stdout + done.stderr
    assert not (tmp_path / "results" / "visual_genome" / "images.parquet").exists()


def test_an_unpacked_annotation_file_is_taken_where_its_zip_is_not_there(tmp_path):
    source = tmp_path / "mine"
    source.mkdir()
    by_object = ("objects.json", "attributes.json", "relationships.json")
    for name in ("image_data.json", "image_data.json.zip", *by_object, "region_descriptions.json", "object_alias.txt"):
        (source / name).touch()
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text("visual_genome:\n  source: mine\n  aliases: true\n")
    done = run_snakemake(tmp_path, "results/visual_genome/images.parquet", "--filegraph", overlay=overlay)
    assert_ok(done)
    assert set(re.findall(r">mine/([^<]*)<", done.stdout)) == {
        *("image_data.json.zip", *by_object, "region_descriptions.json", "object_alias.txt")
    }
    assert ">data/downloads/visual_genome/relationship_alias.txt<" in done.stdout


def test_unpacked_annotations_are_not_mixed_with_others_of_unknown_kinship(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "objects.json").touch()
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text("visual_genome:\n  source: mine\n")
    done = run_snakemake(tmp_path, "results/visual_genome/images.parquet", "-n", overlay=overlay)
    assert done.returncode != 0
    assert "['mine/objects.json'] do not tell their version" in done.stdout + done.stderr


def test_the_picture_of_the_dag_shows_every_rule_that_all_needs():
    picture = (ROOT / "docs" / "dag.svg").read_text()
    rules = [
        line.removeprefix("rule ").rstrip(":")
        for path in (ROOT / "workflow" / "rules").glob("*.smk")
        for line in path.read_text().splitlines()
        if line.startswith("rule ")
    ]
    missing = [rule for rule in rules if rule not in picture and rule not in NOT_IN_ALL]
    assert not missing


def test_what_the_folder_of_visual_genome_lacks_is_downloaded(tmp_path):
    (tmp_path / "visual_genome").mkdir()
    for name in (*ANNOTATIONS[:4], "images.zip"):
        (tmp_path / "visual_genome" / name).touch()
    target = "results/features/mini_clip_cc12m/systematicity.parquet"
    for download, n_jobs in (("everything", "2"), ("annotations", "1"), ("nothing", None)):
        overlay = tmp_path / "overlay.yaml"
        overlay.write_text(f"visual_genome: {{source: visual_genome, download: {download}}}\n")
        done = run_snakemake(tmp_path, target, "-n", "--quiet", "rules", overlay=overlay)
        if n_jobs:
            assert_ok(done)
            assert set(re.findall(r"download_file +(\d+)", done.stdout)) == {n_jobs}
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "visual_genome.download is nothing, but 1 files are missing (127,377,968 bytes):" in said
    assert "https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/region_descriptions.json.zip" in said


def test_images_are_downloaded_if_no_place_holds_any(tmp_path):
    (tmp_path / "visual_genome").mkdir()
    for name in ANNOTATIONS:
        (tmp_path / "visual_genome" / name).touch()
    target = "results/features/mini_clip_cc12m/systematicity.parquet"
    for download, n_jobs in (("everything", {"2"}), ("annotations", set())):
        overlay = tmp_path / "overlay.yaml"
        overlay.write_text(f"visual_genome: {{source: visual_genome, download: {download}}}\n")
        done = run_snakemake(tmp_path, target, "-n", "--quiet", "rules", overlay=overlay)
        assert_ok(done)
        assert set(re.findall(r"download_file +(\d+)", done.stdout)) == n_jobs


def test_models_of_the_full_run_are_known():
    import open_clip

    block = yaml.safe_load((ROOT / "config" / "crepe.yaml").read_text())["models"]
    with open(ROOT / "resources" / "models" / "models.csv", newline="", encoding="utf-8") as file:
        known = {row["name"]: row for row in csv.DictReader(file)}
    assert len(block["definitions"]) == 15  # paper, section 5
    assert set(block["use"]) == set(block["definitions"]) - {"cyclip"}  # its weights have to be fetched by hand
    for name, definition in block["definitions"].items():
        assert known[name]["family"] == definition["family"]
        if definition["family"] == "open_clip":
            tags = open_clip.list_pretrained_tags_by_model(definition["architecture"])
            assert definition["weights"] in tags, name
