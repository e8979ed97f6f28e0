import base64
import html
from urllib.parse import parse_qs

import pytest

from crepebench.families import FOIL_TYPES
from crepebench.gallery_report import REPORT_BYTES
from crepebench.inline_pages import inline_page
from crepebench.model_comparison import changed_sets
from tests.unit.gallery_files import MODELS, PAIRS, SCRIPTS, build, data_of, write_inputs
from tests.unit.review_page_files import NASTY, PAGES, write_images

from .browser import Watch, assert_no_sideways_scrolling, browser  # noqa: F401

LONG = MODELS["productivity"][2]


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """Path and data of a page of 60 sets (image 4 has no file), and the tables' rows of sets and scores."""
    folder = tmp_path_factory.mktemp("gallery")
    paths, sets, scores = write_inputs(folder)
    page, _ = build(folder, paths, write_images(folder, without_file=(4,)), max_sets=60)
    return page, data_of(page), sets, scores


@pytest.fixture(scope="module")
def shared_page(browser, gallery):  # noqa: F811
    """One page for all tests, checked in the end: it was quiet and asked for nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    watch = Watch(page)
    yield page
    own = gallery[0].as_uri()
    watch.requests = [url.partition("#")[0] for url in watch.requests if url != "about:blank"]
    assert own in watch.requests
    watch.assert_quiet(gallery[0])
    context.close()


@pytest.fixture
def page(shared_page, gallery):
    """The page, freshly opened, without filters."""
    shared_page.set_viewport_size({"width": 1280, "height": 900})
    open_at(shared_page, gallery)
    return shared_page


def open_at(page, gallery, hash_=""):
    page.goto("about:blank")
    page.goto(gallery[0].as_uri() + hash_)


def shown(page):
    """Family, set_id and foil_type of all cards, in their order."""
    while page.locator("#more").is_visible():
        page.locator("#more").click()
    cards = page.locator(".set").evaluate_all("cards => cards.map(c => [c.ariaLabel, c.dataset.set, c.dataset.type])")
    return [(label.partition(",")[0], set_id, foil_type) for label, set_id, foil_type in cards]


def key_of(entry):
    return entry["family"], entry["set_id"], entry["foil_type"]


def wait_for_text(locator, text):
    """Waits until an element holds a text, since copying takes a moment."""
    locator.filter(has_text=text).wait_for()
    assert locator.inner_text() == text


def select(page, **values):
    for name, value in values.items():
        page.locator(f"[name={name}]").select_option(value)


def scores_of(gallery, model):
    """Rows of table SCORES of the chosen sets that a model scored."""
    _, data, sets, scores = gallery
    chosen = {key_of(entry) for entry in data["sets"]}
    return {
        key: score
        for family in FOIL_TYPES
        for row, score in zip(sets[family], scores[family].get(model, []), strict=False)
        if (key := (family, row["set_id"], row["foil_type"])) in chosen and not score["reason"]
    }


def test_all_chosen_sets_are_shown_and_nobody_is_told_that_they_are_all_there_is(page, gallery):
    data = gallery[1]
    assert sorted(shown(page)) == sorted(map(key_of, data["sets"]))
    n_scored = sum(family["n_scored"] for family in data["families"])
    assert page.locator("#count").inner_text() == f"60 of 60 chosen sets; {n_scored} scored"
    note = page.locator("#choice").inner_text()
    assert "not a sample in proportion" in note and "no figures of the benchmark" in note
    assert f"{84 - n_scored} more could not be scored" in note
    assert "%" not in page.locator("body").inner_text().replace(NASTY, "")


@pytest.mark.parametrize(
    "values, fits",
    [
        ({"family": "productivity"}, lambda e: e["family"] == "productivity"),
        ({"type": "comp"}, lambda e: e["foil_type"] == "comp"),
        ({"family": "productivity", "type": "swap"}, lambda e: e["foil_type"] == "swap"),
        ({"split": "UC"}, lambda e: e["splits"][:1] == ["UC"]),
        ({"corpus": "corpus_b", "split": "SC"}, lambda e: e["splits"][1:] == ["SC"]),
        ({"n": "5"}, lambda e: e["complexity"] == 5),
    ],
)
def test_filters_of_sets_choose_the_cards(page, gallery, values, fits):
    select(page, **values)
    expected = [key_of(entry) for entry in gallery[1]["sets"] if fits(entry)]
    assert 0 < len(expected) < 60
    assert sorted(shown(page)) == sorted(expected)
    assert page.locator("#count").inner_text().startswith(f"{len(expected)} of 60 ")


@pytest.mark.parametrize("model", MODELS["productivity"])
def test_right_and_wrong_are_those_of_the_table_of_scores(page, gallery, model):
    scores = scores_of(gallery, model)
    select(page, model=model)
    for result, keys in {
        "right": {key for key, score in scores.items() if score["rank"] == 1},
        "wrong": {key for key, score in scores.items() if score["rank"] > 1},
        "unscored": {key_of(entry) for entry in gallery[1]["sets"]} - set(scores),
    }.items():
        select(page, result=result)
        assert set(shown(page)) == keys, result
        assert keys


def test_sets_that_every_model_gets_wrong_are_a_filter(page, gallery):
    ranks = {key_of(entry): [s["rank"] for s in entry["scores"] if s and "rank" in s] for entry in gallery[1]["sets"]}
    for result, is_right in (("all_wrong", False), ("all_right", True)):
        select(page, result=result)
        assert set(shown(page)) == {key for key, found in ranks.items() if {rank == 1 for rank in found} == {is_right}}


def test_gained_and_lost_are_those_of_the_comparison_of_two_models(page, gallery):
    one, other = (scores_of(gallery, model) for model in ("clip_a", "clip_b"))
    expected = {"gained": set(), "lost": set()}
    for key in one.keys() & other.keys():
        names = dict(zip(("family", "set_id", "foil_type"), key, strict=True)) | dict.fromkeys(
            ("protocol", "image_id", "complexity")
        )
        for row in changed_sets([{**names, "one": one[key], "other": other[key]}], key[0]):
            expected[row["change"]].add(key)
    assert page.locator("[name=change]").is_disabled()
    select(page, model="clip_a", other="clip_b")
    for change, keys in expected.items():
        select(page, change=change)
        assert set(shown(page)) == keys and keys
    select(page, other="")
    assert len(shown(page)) == 60


def test_sets_gained_and_lost_against_the_base_are_a_filter_of_their_own(page, gallery):
    labels = page.locator("[name=tuned] option").all_inner_texts()
    assert labels[:3] == ["any", "gained by clip_b over clip_a", "lost by clip_b against clip_a"]
    assert len(labels) == 1 + 2 * 2
    for base, model in PAIRS[:2]:
        before, after = scores_of(gallery, base), scores_of(gallery, model)
        both = before.keys() & after.keys()
        gained = {key for key in both if before[key]["rank"] > 1 and after[key]["rank"] == 1}
        lost = {key for key in both if before[key]["rank"] == 1 and after[key]["rank"] > 1}
        for change, keys in (("gained", gained), ("lost", lost)):
            open_at(page, gallery, f"#tuned={change}+{base}+{model}")
            assert set(shown(page)) == keys and keys
    assert page.locator("#made").is_visible()


def test_the_kind_of_a_foil_chooses_sets_whose_truth_it_beats_or_ties(page, gallery):
    scores = scores_of(gallery, "clip_b")
    entries = {key_of(entry): entry for entry in gallery[1]["sets"]}
    expected = {
        key
        for key, score in scores.items()
        for foil, win in zip(entries[key]["foils"], score["wins"], strict=True)
        if win < 1 and foil["kind"] == "attribute"
    }
    select(page, model="clip_b", kind="attribute")
    assert set(shown(page)) == expected and expected


def test_cards_stand_in_the_order_of_their_margins_and_within_bounds(page, gallery):
    margins = {key: score["margin"] for key, score in scores_of(gallery, "clip_b").items()}
    n_scored = len(margins)
    select(page, model="clip_b")
    for order, value in (("wrong", lambda m: m), ("right", lambda m: -m), ("close", abs)):
        select(page, sort=order)
        found = [value(margins[key]) for key in shown(page)[:n_scored]]
        assert found == sorted(found)
    page.locator("[name=from]").fill("-0.1")
    page.locator("[name=to]").fill("0.05")
    expected = {key for key, margin in margins.items() if -0.1 <= margin <= 0.05}
    assert set(shown(page)) == expected and 0 < len(expected) < n_scored


def test_a_card_says_which_models_rank_a_foil_above_the_truth(page, gallery):
    entry = next(
        entry
        for entry in gallery[1]["sets"]
        if all(score and "rank" in score for score in entry["scores"])
        and any(s["wins"][0] == 0 for s in entry["scores"])
        and any(s["wins"][0] == 1 for s in entry["scores"])
    )
    models = gallery[1]["models"]
    above = [model for model, score in zip(models, entry["scores"], strict=True) if score["wins"][0] == 0]
    open_at(page, gallery, f"#q={entry['set_id']}&model={above[0]}")
    card = page.locator(f".set[data-type={entry['foil_type']}]")
    foil = card.locator(".foil").first
    assert f"above the truth for {', '.join(above)}" in foil.inner_text()
    assert foil.locator(".sign").get_attribute("title") == f"{above[0]}: above the truth"
    rows = card.locator(".models tbody tr").all_inner_texts()
    for row, model, score in zip(rows, models, entry["scores"], strict=True):
        rank = f"{score['rank']:g} of {len(entry['foils']) + 1}"
        assert row.replace("\u2212", "-").split("\t") == [model, rank, f"{score['margin']:+.4f}"]


def test_a_long_table_of_models_is_folded_to_a_count(page):
    table = """n => {
        const models = Array.from({ length: n }, (_, i) => `m${i}`);
        const scores = models.map((_, i) => ({ rank: 1 + i % 2, margin: 0, wins: [1 - i % 2] }));
        return modelsTable({ models }, { foils: [{}], scores }, ["m0"]).querySelector("summary")?.textContent ?? "";
    }"""
    assert page.evaluate(table, 6) == ""
    assert page.evaluate(table, 9) == "right for 5 of 9 models"


def test_a_search_finds_captions_foils_and_ids(page, gallery):
    entry = gallery[1]["sets"][-1]
    page.locator("[name=q]").fill("CAPTION of 7")
    assert {set_id for _, set_id, _ in shown(page)} == {
        e["set_id"] for e in gallery[1]["sets"] if e["caption"] == "a caption of 7"
    }
    page.locator("[name=q]").fill(entry["foils"][-1]["foil_id"])
    assert key_of(entry) in shown(page)
    page.locator("[name=q]").fill("nothing has this")
    assert page.locator("#cards").inner_text() == "No chosen set fits these filters."
    page.locator("#reset").click()
    assert len(shown(page)) == 60


def test_the_address_keeps_the_filters_over_a_reload(page, gallery):
    select(page, family="productivity", model=LONG, other="clip_a", sort="change", result="wrong")
    page.locator("[name=q]").fill("foil 1")
    before = shown(page)
    state = {name: values[0] for name, values in parse_qs(page.url.partition("#")[2]).items()}
    expected = {"family": "productivity", "model": LONG, "other": "clip_a", "sort": "change", "result": "wrong"}
    assert state == {**expected, "q": "foil 1"}
    page.reload()
    assert shown(page) == before and 0 < len(before) < 60
    for name, value in state.items():
        assert page.locator(f"[name={name}]").input_value() == value


def test_values_of_an_address_that_are_no_choices_are_left_out(page, gallery):
    open_at(page, gallery, "#family=fish&type=swap&from=high&model=nobody&change=gained&sort=change&nonsense=1")
    assert {foil_type for _, _, foil_type in shown(page)} == {"swap"}
    assert page.url.endswith("#type=swap")


def test_the_id_of_a_set_shows_it_alone_and_back_returns(page):
    select(page, family="systematicity")
    n_before, card = len(shown(page)), page.locator(".set").nth(2)
    set_id = card.get_attribute("data-set")
    card.locator(".facts a").click()
    assert [found for _, found, _ in shown(page)] == [set_id]
    page.go_back()
    assert len(shown(page)) == n_before


def test_keys_move_between_cards_search_show_the_image_and_copy(page, gallery):
    cards = page.locator(".set")

    def focused():
        return cards.evaluate_all("cards => cards.indexOf(document.activeElement)")

    for key, place in (("j", 0), ("ArrowDown", 1), ("j", 2), ("k", 1), ("ArrowUp", 0), ("k", 0)):
        page.keyboard.press(key)
        assert focused() == place, key
    for _ in range(25):
        page.keyboard.press("j")
    assert focused() == 25 and cards.count() == 40
    page.keyboard.press("/")
    page.keyboard.type("j of 7")
    assert page.locator("[name=q]").input_value() == "j of 7"
    page.keyboard.press("Escape")
    page.locator("#reset").click()
    select(page, sort="set")
    page.locator("[name=sort]").evaluate("field => field.blur()")
    page.keyboard.press("j")
    entry = gallery[1]["sets"][0]
    assert cards.first.locator(".picture .box").count() == 0
    page.keyboard.press("w")
    picture, box = (cards.first.locator(s).bounding_box() for s in (".picture img", ".picture .box"))
    scale = picture["width"] / 120
    x, y, width, height = (side * scale for side in entry["box"])
    for name, value in {"x": x + picture["x"], "y": y + picture["y"], "width": width, "height": height}.items():
        assert box[name] == pytest.approx(value, abs=1), name
    page.keyboard.press("w")
    assert cards.first.locator(".picture .box").count() == 0
    page.locator("#reason").fill('the truth is "wrong", too')
    page.locator("#reason").press("Escape")
    cards.first.focus()
    page.keyboard.press("c")
    line = f'{entry["set_id"]},"the truth is ""wrong"", too"'
    wait_for_text(page.locator("#copied code"), line)
    page.locator("#reason").fill("no foil")
    cards.first.locator(".foil .id").nth(1).click()
    wait_for_text(page.locator("#copied code"), f"{entry['foils'][1]['foil_id']},no foil")


def test_a_copied_line_is_in_the_clipboard(page, gallery):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    set_id = page.locator(".set").first.get_attribute("data-set")
    page.locator(".exclude").first.click()
    wait_for_text(page.locator("#copied"), f"Copied: {set_id},seen in the gallery")
    assert page.evaluate("navigator.clipboard.readText()") == f"{set_id},seen in the gallery"


def test_texts_stay_texts(page, gallery):
    entry = next(e for e in gallery[1]["sets"] if any(foil["text"] == NASTY for foil in e["foils"]))
    open_at(page, gallery, f"#q={entry['set_id']}")
    assert page.locator(".foil").first.locator("div > div").first.text_content() == NASTY
    assert page.title() == "Gallery of retrieval sets"
    assert page.locator(".foil img, .foil script").count() == 0


def test_a_set_that_a_model_did_not_score_says_why(page, gallery):
    scored = scores_of(gallery, "clip_a")
    entry = next(e for e in gallery[1]["sets"] if key_of(e) not in scored)
    open_at(page, gallery, f"#q={entry['set_id']}&result=unscored")
    assert page.locator(".verdict").first.inner_text() == "clip_a: not scored (equal_tokens)"
    assert page.locator(".models tbody tr").first.inner_text().split("\t") == ["clip_a", "not scored"]


def test_a_set_without_picture_says_why(page, gallery):
    open_at(page, gallery, "#q=image+4")
    notes = page.locator(".set:has(figcaption:text-matches('^image 4,')) figure .note").all_inner_texts()
    assert notes and set(notes) == {"No picture: image_missing: no file was found"}


def test_the_page_fits_a_narrow_screen(page, gallery):
    page.set_viewport_size({"width": 360, "height": 740})
    open_at(page, gallery, f"#model={LONG}&other=clip_a")
    shown(page)
    assert not page.locator("#form").is_visible()
    assert_no_sideways_scrolling(page)
    page.locator("summary").click()
    assert page.locator("#form").is_visible()
    assert page.locator("summary").inner_text() == "Filters: 2 in use"
    assert_no_sideways_scrolling(page)
    page.locator("[name=q]").fill(NASTY)
    assert_no_sideways_scrolling(page)


def test_the_page_is_dark_where_the_reader_wants_it(page):
    def colours():
        return page.evaluate("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))")

    light = colours()
    page.emulate_media(color_scheme="dark")
    dark = colours()
    page.emulate_media(color_scheme=None)
    assert dark != light


def test_the_largest_page_that_a_report_may_hold_opens_from_a_report(browser, gallery, tmp_path):  # noqa: F811
    body = (PAGES / "gallery.html").read_text(encoding="utf-8")
    files = [str(PAGES / "gallery.css")], [str(PAGES / script) for script in SCRIPTS]
    data = {**gallery[1], "n_in_gallery": 99, "padding": ""}
    data["padding"] = "x" * (REPORT_BYTES - len(inline_page("Gallery", body, *files, data).encode()))
    text = inline_page("Gallery", body, *files, data).encode()
    assert len(text) == REPORT_BYTES
    address = "data:text/html;charset=utf8;filename=report.html;base64," + base64.b64encode(text).decode()
    report = tmp_path / "report.html"
    report.write_text(f'<iframe src="{html.escape(address)}" width="1000" height="700"></iframe>', encoding="utf-8")
    page = browser.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(report.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("[name=family]").select_option("productivity")
    assert (
        frame.locator("#count")
        .inner_text()
        .startswith(f"{sum(e['family'] == 'productivity' for e in data['sets'])} of")
    )
    assert "results/gallery/index.html has 99 sets" in frame.locator("#choice").inner_text()
    frame.locator(".set").nth(1).locator(".facts a").click()
    assert frame.locator("#count").inner_text().startswith("1 of 60 ")
    assert not frame.locator("#link").is_visible()
    assert faults == []
    page.close()
