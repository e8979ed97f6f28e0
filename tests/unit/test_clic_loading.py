import numpy as np
import pytest
import torch

from crepebench.clic_loading import batch_size, load_batches, plan_steps
from crepebench.clic_settings import VARIANTS, training_settings
from crepebench.clic_tokens import TextTokens

from .clic_files import COLOURS, QUICK, make_parts, write_images

SETTINGS = training_settings(QUICK)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("world")
    return folder, *write_images(folder / "images")


def batches_of(parts, workers, n=6):
    plans = plan_steps(len(parts.examples), parts.variant, parts.settings, seed=1)
    return [batch for batch, _ in zip(load_batches(parts.batches, plans, workers), range(n), strict=False)]


def test_batches_are_the_same_for_any_number_of_workers(world):
    parts = make_parts(*world)
    alone, four = batches_of(parts, 0), batches_of(parts, 4)
    assert len(alone) == len(four) == 6
    for one, other in zip(alone, four, strict=True):
        assert one.plan.rows.tolist() == other.plan.rows.tolist()
        assert one.reasons == other.reasons
        for name in ("pixels", "images", "tokens", "places", "has_negative"):
            a, b = getattr(one, name), getattr(other, name)
            assert (a is None and b is None) or torch.equal(a, b)


def test_texts_stand_in_slots_and_images_beside_them(world):
    parts = make_parts(*world)
    joined, plain = batches_of(parts, 0, 2)
    assert (joined.plan.kind, plain.plan.kind) == ("joined", "plain")
    assert joined.places.shape == (5, 8)  # [p1 | p2 | p3 | p4 | n]: 5 texts an image
    assert plain.places.shape == (1, 8)
    assert joined.pixels.shape == (8, 32, 32, 3)
    assert plain.images.shape == (8, 3, 32, 32)
    assert joined.images is None
    items = [parts.examples.maker.item(0, int(i)) for i in joined.plan.rows]
    for k in range(4):
        wanted = parts.base.tokenise([item.positives[k] for item in items]).ids
        assert torch.equal(joined.tokens[joined.places[k]], wanted)
    has = joined.has_negative
    assert has.tolist() == [bool(item.negative) for item in items]
    negatives = parts.base.tokenise([item.negative for item in items]).ids
    assert torch.equal(joined.tokens[joined.places[4]][has], negatives[has])


def test_halves_come_from_both_images_in_the_order_of_images_not_of_captions(world):
    parts, seen = make_parts(*world), set()
    colours = list(COLOURS.values())
    for batch in batches_of(parts, 0):
        for i, pixels in zip(batch.plan.rows, batch.pixels if batch.pixels is not None else [], strict=False):
            item = parts.examples.maker.item(batch.plan.epoch, int(i))
            first, second = (item.second, item.first) if item.image_order else (item.first, item.second)
            assert tuple(pixels[0, 0].tolist()) == colours[first % 5]
            assert tuple(pixels[-1, -1].tolist()) == colours[second % 5]
            seen.add(item.image_order)
    assert seen == {False, True}


def test_nothing_is_read_that_a_step_does_not_use(world, monkeypatch):
    parts = make_parts(*world, frozen=object())
    joined, plain = (next(b for b in batches_of(parts, 0) if b.plan.kind == kind) for kind in ("joined", "plain"))
    assert joined.images is None
    assert plain.images is None
    assert plain.pixels is None
    monkeypatch.setattr(parts.batches, "_read", None)
    monkeypatch.setattr(parts.examples.maker, "item", None)
    assert torch.equal(parts.batches[plain.plan].tokens, plain.tokens)


def test_the_last_items_of_an_epoch_that_fill_no_batch_are_left_out_and_others_next_time():
    plans = list(plan_steps(21, VARIANTS["clic"], SETTINGS, seed=1))
    assert [plan.step for plan in plans] == [0, 1, 2, 3]
    used = [np.concatenate([plan.rows for plan in plans if plan.epoch == epoch]) for epoch in (0, 1)]
    assert [len(set(rows.tolist())) for rows in used] == [16, 16]
    assert set(used[0].tolist()) != set(used[1].tolist())


def test_steps_go_on_where_a_training_was_killed_and_processes_share_each_batch():
    plans = list(plan_steps(21, VARIANTS["clic"], SETTINGS, seed=1))
    later = list(plan_steps(21, VARIANTS["clic"], SETTINGS, seed=1, first=3))
    assert [plan.rows.tolist() for plan in later] == [plans[3].rows.tolist()]
    shares = [list(plan_steps(21, VARIANTS["clic"], SETTINGS, 1, rank=rank, world=2)) for rank in (0, 1)]
    for whole, first, second in zip(plans, *shares, strict=True):
        assert whole.rows.tolist() == [*first.rows, *second.rows]


def test_few_items_make_one_batch_and_too_few_none():
    assert batch_size(5, SETTINGS) == 5
    assert batch_size(5, SETTINGS, world=2) == 4
    with pytest.raises(ValueError, match="3 items in batches of 8, 2 processes"):
        batch_size(3, SETTINGS, world=2)


def test_remembered_tokens_are_those_of_the_model(world):
    base = make_parts(*world).base
    tokens, texts = TextTokens(base.tokenise, most=3), ["a red jar", "", "a b c d " * 40, "a red jar"]
    for chosen in (texts[:2], texts, texts[1:]):
        found, wanted = tokens(chosen), base.tokenise(chosen)
        assert torch.equal(found.ids, wanted.ids)
        assert found.n_tokens.tolist() == wanted.n_tokens.tolist() == tokens.count(chosen)
    assert found.limit == wanted.limit
