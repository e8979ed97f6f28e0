"""Take annotators' answers apart into judgements, and list those that want a third look or a change of the sets.

A judgement is one question about one thing (a caption, a set, a foil, a caption's facts) with the answer of each
annotator, so that figures, agreement, disagreements and exclusions all count the same things.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from crepebench.review_answers import CAPTION, NO, PARSER, SET, TRUTH, UNSURE, YES, Answers, Sample, foils_of

FAITHFUL, FALSE, NATURAL, PICK, WRONG, MISSED = "faithful", "false", "natural", "pick", "n_wrong", "n_missed"
"""Questions."""
DISAGREEMENT_COLUMNS = (
    "item_id",
    "sample",
    "question",
    "family",
    "foil_type",
    "complexity",
    "corpus",
    "image_id",
    "box",
    "set_id",
    "foil_id",
    "foil_kind",
    "caption",
    "text",
    "answers",
)
SAMPLES = {CAPTION: "captions", SET: "sets", PARSER: "parser"}
"""What the sample of each kind of item is called in tables."""


@dataclass(frozen=True)
class Judgement:
    """One question about one thing.

    Attributes:
        question: one of the six.
        item: item of the sample.
        foil: candidate that is asked about, if it is one.
        answers: of each annotator.
        hits: of each annotator, what counts for the sets or the parser.
        totals: of each annotator, what `hits` is a part of.
    """

    question: str
    item: Mapping
    foil: Mapping | None
    answers: tuple
    hits: tuple[int, ...]
    totals: tuple[int, ...]

    @property
    def categories(self) -> tuple:
        """Answers as agreement compares them; of picks, whether they are right, since sets share no other answer."""
        return self.hits if self.question == PICK else self.answers

    @property
    def n_unsure(self) -> int:
        """Annotators who were unsure."""
        return self.answers.count(UNSURE)


def judgements(sample: Sample, annotators: Sequence[Answers]) -> Iterator[Judgement]:
    """Yields all judgements, in the order of the sample; answers stand in the order of the annotators."""
    for item_id, item in sample.items.items():
        answers = [each.answers[item_id] for each in annotators]
        if item["kind"] == PARSER:
            yield from _of_parser(item, answers)
            continue
        if item["kind"] == SET:
            yield _plain(PICK, item, None, [answer["pick"] for answer in answers], TRUTH)
        # ASSUME: a caption is faithful and a foil genuine only where an annotator says a plain yes (section 4.3 has no
        # third answer); who is unsure counts against them, and the share of unsure answers stands beside.
        yield _plain(FAITHFUL, item, None, [answer["faithful"] for answer in answers], YES)
        if item["kind"] == SET:
            for foil_id, foil in foils_of(item).items():
                of_foil = [answer["foils"][foil_id] for answer in answers]
                for question in (FALSE, NATURAL):
                    yield _plain(question, item, foil, [answer[question] for answer in of_foil], YES)


def _plain(question: str, item: Mapping, foil: Mapping | None, answers: list, hit: str) -> Judgement:
    """Returns the judgement of a question with one good answer."""
    hits = tuple(int(answer == hit) for answer in answers)
    return Judgement(question, item, foil, tuple(answers), hits, (1,) * len(answers))


def _of_parser(item: Mapping, answers: Sequence[Mapping]) -> Iterator[Judgement]:
    """Yields what was found wrong (right facts of the found ones), and missed (right facts of those in the caption)."""
    n_wrong, n_missed = (tuple(answer[question] for answer in answers) for question in (WRONG, MISSED))
    n_found = len(item["found"])
    right = tuple(n_found - n for n in n_wrong)
    yield Judgement(WRONG, item, None, n_wrong, right, (n_found,) * len(answers))
    # ASSUME: the paper's check of its parser counts the triplets that a reader misses among all of the caption (A.2);
    # so recall is what was found and is right, of that and what was missed.
    yield Judgement(MISSED, item, None, n_missed, right, tuple(n + m for n, m in zip(right, n_missed, strict=True)))


def disagreement_rows(found: Iterable[Judgement], names: Sequence[str]) -> Iterator[dict]:
    """Yields a row for each judgement on which annotators differ, with all that a third one needs to look at.

    Args:
        found: judgements.
        names: of the annotators, in the order of the answers.
    """
    for each in found:
        if len(set(each.answers)) <= 1:
            continue
        item, foil = each.item, each.foil or {}
        said = each.answers
        text = foil.get("text", "")
        if each.question == PICK:
            texts = {candidate["id"]: candidate["text"] for candidate in item["candidates"]}
            said = [TRUTH if answer == TRUTH else texts[answer] for answer in each.answers]
        elif item["kind"] == PARSER:
            text = "; ".join(item["found"])
        row = {column: item.get(column) for column in DISAGREEMENT_COLUMNS} | {
            "sample": SAMPLES[item["kind"]],
            "question": each.question,
            "box": " ".join(map(str, item.get("box") or ())),
            "foil_id": foil.get("id"),
            "foil_kind": foil.get("kind"),
            "text": text,
            "answers": "; ".join(f"{name}: {answer}" for name, answer in zip(names, said, strict=True)),
        }
        yield {column: "" if value is None else value for column, value in row.items()}


def exclusion_rows(found: Iterable[Judgement], names: Sequence[str], sample_id: str) -> list[dict]:
    """Returns id and reason of the sets and foils that all annotators found wrong, sets first, by id.

    A set is wrong if all call its caption unfaithful, and a foil if all say that it is not false. A caption or a foil
    that stands in several items (a foil of `swap` is one of `overall`, too) must be wrong in each. Captions that no
    set has are left out.

    Args:
        found: judgements.
        names: of the annotators.
        sample_id: of the sample; it stands in the reasons.
    """
    answers: dict[str, dict[str, list]] = {FAITHFUL: defaultdict(list), FALSE: defaultdict(list)}
    for each in found:
        identity = each.foil["id"] if each.question == FALSE else each.item.get("set_id")
        if each.question in answers and identity:
            answers[each.question][identity] += each.answers
    by_whom = f"say {', '.join(names)} (review {sample_id})"
    reasons = {FAITHFUL: f"the caption is not faithful, {by_whom}", FALSE: f"the foil is not false, {by_whom}"}
    return [
        {"id": identity, "reason": reasons[question]}
        for question, by_id in answers.items()
        for identity in sorted(by_id)
        if set(by_id[identity]) == {NO}
    ]
