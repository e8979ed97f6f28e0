from crepebench.hashed_draws import draw_ids


def test_few_drawn_ids_are_among_many_and_change_with_the_seed():
    few, many, other = draw_ids(range(100), 10, 1), draw_ids(range(100), 30, 1), draw_ids(range(100), 10, 2)
    assert few < many
    assert few != other
    assert draw_ids(range(100), None, 1) == set(range(100))
    assert draw_ids(list(range(99, -1, -1)), 10, 1) == few
