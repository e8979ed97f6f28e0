import threading
import time

import pytest

from crepebench.prefetching import map_ahead


@pytest.mark.parametrize(
    ("n_items", "n_threads", "n_ahead"), [(0, 1, 1), (1, 1, 1), (11, 1, 4), (11, 3, 1), (50, 4, 7)]
)
def test_results_come_in_the_order_of_the_items(n_items, n_threads, n_ahead):
    def work(item):
        time.sleep(0.002 * (item % 3))
        return item * item

    found = list(map_ahead(work, range(n_items), n_threads, n_ahead))
    assert found == [(item, item * item) for item in range(n_items)]


def test_work_is_done_while_the_caller_is_busy():
    done = threading.Event()
    results = map_ahead(lambda item: done.set() if item == 1 else None, range(3), 1, 2)
    next(results)
    assert done.wait(timeout=10)  # item 1 is done although only item 0 was taken
    results.close()


def test_no_more_than_so_many_items_are_begun_before_their_turn():
    begun = []
    results = map_ahead(begun.append, range(100), 2, 5)
    for taken in range(1, 20):
        next(results)
        time.sleep(0.005)
        assert len(begun) <= taken + 5


def test_error_comes_in_its_turn_and_ends_the_work():
    begun = []

    def work(item):
        begun.append(item)
        if item == 2:
            raise ValueError("item 2 is bad")
        return item

    results = map_ahead(work, range(100), 1, 4)
    assert [next(results), next(results)] == [(0, 0), (1, 1)]
    with pytest.raises(ValueError, match="item 2 is bad"):
        next(results)
    assert len(begun) <= 7


def test_threads_end_with_the_caller():
    before = threading.active_count()
    results = map_ahead(str, range(100), 3, 4)
    next(results)
    results.close()
    assert threading.active_count() == before
