"""A language model words denials; answers pass the filters of templates."""

from collections import Counter

import pytest

from crepebench.captioners import Answer, Captioner
from crepebench.negation_data import check_plans, make_judge
from crepebench.negation_forms import read_forms
from crepebench.negation_plans import Shown, make_related, make_visible, plan_all, read_captions
from crepebench.negation_writers import prompt_of, rewrite_plans, rewritten_of
from crepebench.parsing import ALL, parse_texts

TEXTS = [
    "a red jar above a box",
    "a blue key above a fan",
    "a red wallet above a church",
    "a green bell above a cup",
] * 3


class Writer(Captioner):
    """Answers by what is to be denied; counts what it is asked."""

    source, identity = "made:up", {"backend": "made up"}

    def __init__(self, reply):
        self._reply, self.n_asked = reply, 0

    def answer(self, requests):
        for request in requests:
            self.n_asked += 1
            denied = request.suffix.split("deny: ")[1].split("\n")[0]
            yield request, Answer(self._reply(denied, request.seed), "stop")


@pytest.fixture(scope="module")
def forms(repository):
    return read_forms(str(repository / "resources" / "negation" / "templates.yaml"))


@pytest.fixture(scope="module")
def plans(parser, forms, tables):
    config = {
        "seed": 0,
        "use": "train",
        "forms": {"explicit": 1},
        "attribute_share": 0,
        "bare_share": 0,
        "min_count": 1,
    }
    seen = Shown({}, {})
    rows = list(read_captions(list(enumerate(TEXTS)), parse_texts(TEXTS, parser, ALL), forms, seen))
    return plan_all(rows, seen, forms, tables, make_related(None), make_visible(None), config, Counter())


def config_of(tmp_path):
    return {"store": str(tmp_path), "seed": 1, "attempts": 2, "temperature": 1.0}


def test_denials_of_a_model_take_the_place_of_the_templates(tmp_path, parser, forms, plans):
    counts: dict = {}
    writer = Writer(lambda denied, seed: f"Rewritten: A bench without a {denied}.")
    found, sources = rewrite_plans(plans, config_of(tmp_path), make_judge(parser, forms), counts, writer)
    assert set(sources) == {"llm"}
    for plan, old in zip(found, plans, strict=True):
        assert plan.denied_shown == f"a bench without a {old.slot.concept}"
        assert plan.denied_absent == f"a bench without a {old.absent}"
        assert (plan.affirmed_shown, plan.affirmed_absent) == (old.caption, old.exchanged)
        assert (plan.template.name, plan.template.form) == ("llm", "explicit")
    checked, _ = check_plans(found, sources, parser, forms, counts)
    assert len(checked) == len(plans)
    again = Writer(lambda denied, seed: "not asked")
    assert rewrite_plans(plans, config_of(tmp_path), make_judge(parser, forms), {}, again)[0] == found
    assert again.n_asked == 0


def test_what_the_filters_refuse_is_asked_for_again_and_then_left_to_the_template(tmp_path, parser, forms, plans):
    counts: dict = {}
    writer = Writer(lambda denied, seed: f"a bench with a {denied}")
    found, sources = rewrite_plans(plans, config_of(tmp_path), make_judge(parser, forms), counts, writer)
    assert found == plans and set(sources) == {"template"}
    assert counts["answer"]["cue_missing"] == counts["answer"]["read"] == 2 * 2 * len(plans)


def test_a_prompt_names_what_is_denied(plans):
    beginning, rest = prompt_of(plans[0], 0)
    assert beginning.endswith("\n\n") and rest.endswith("rewritten:")
    assert f"caption: {plans[0].caption}\ndeny: {plans[0].slot.concept}\n" in rest
    assert f"deny: {plans[0].absent}\n" in prompt_of(plans[0], 1)[1]


def test_an_answer_is_the_first_line_without_its_mark():
    assert rewritten_of("rewritten: A box without a jar.\n\ncaption: more") == "a box without a jar"
    assert rewritten_of('"a box with no jar"') == "a box with no jar"
