import numpy as np
import pytest
import torch

from crepebench.models import Tokens
from crepebench.token_rows import lengths_of, take_rows, token_rows


def tokens(ids, n_tokens, mask=None, limit=5):
    mask = None if mask is None else torch.tensor(mask)
    return Tokens(torch.tensor(ids), mask, np.array(n_tokens, np.int64), limit)


def test_texts_of_equal_tokens_have_one_id():
    first, second, third = token_rows(tokens([[1, 2, 9, 0, 0], [1, 3, 9, 0, 0], [1, 2, 9, 0, 0]], [3, 3, 3]))
    assert first == third
    assert first.tokens_id != second.tokens_id
    assert (first.n_tokens, first.is_cut) == (3, False)


def test_texts_that_differ_behind_the_limit_have_one_id():
    long, longer, short = token_rows(tokens([[1, 2, 3, 4, 9]] * 2 + [[1, 2, 3, 9, 0]], [6, 8, 4]))
    assert long.tokens_id == longer.tokens_id != short.tokens_id
    assert [row.is_cut for row in (long, longer, short)] == [True, True, False]
    assert [row.n_tokens for row in (long, longer, short)] == [6, 8, 4]


def test_text_that_just_fits_is_not_cut():
    assert [row.is_cut for row in token_rows(tokens([[1, 2, 3, 4, 9]] * 2, [5, 6]))] == [False, True]


@pytest.mark.parametrize("width", [3, 4, 7])
def test_padding_does_not_count(width):
    padding = [0] * (width - 3)
    (alone,) = token_rows(tokens([[1, 2, 9]], [3], limit=9))
    (padded,) = token_rows(tokens([[1, 2, 9, *padding]], [3], limit=9))
    assert alone == padded


def test_mask_says_what_is_padding():
    left, right, other = token_rows(
        tokens([[0, 0, 1, 9], [1, 9, 0, 0], [1, 9, 9, 0]], [2, 2, 3], [[0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]])
    )
    assert left.tokens_id == right.tokens_id != other.tokens_id


def test_rows_are_taken_in_their_order():
    all_rows = tokens([[1, 0], [2, 9], [3, 9]], [1, 2, 7], [[1, 0], [1, 1], [1, 1]])
    taken = take_rows(all_rows, np.array([2, 0]))
    assert taken.ids.tolist() == [[3, 9], [1, 0]]
    assert taken.mask.tolist() == [[1, 1], [1, 0]]
    assert taken.n_tokens.tolist() == [7, 1]
    assert take_rows(all_rows, slice(1, 3)).ids.tolist() == [[2, 9], [3, 9]]
    assert lengths_of(all_rows).tolist() == [1, 2, 5]
