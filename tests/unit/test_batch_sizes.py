import numpy as np
import pytest

from crepebench.batch_sizes import AUTO, BatchSizer


class SmallMemory:
    """Encodes at most so many items at once, as a GPU whose memory is full; notes the sizes of batches."""

    def __init__(self, most):
        self.most, self.done, self.failed = most, [], []

    def encode(self, batch):
        import torch

        size = batch.stop - batch.start
        if size > self.most:
            self.failed.append(size)
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        self.done.append(size)
        return np.arange(batch.start, batch.stop, dtype=np.float32)[:, None]


@pytest.mark.parametrize(
    ("n_items", "size", "most", "failed", "done"),
    [
        (11, 4, 99, [], [4, 4, 3]),
        (20, 16, 5, [16, 8], [4, 4, 4, 4, 4]),
        (11, 64, 3, [11, 5], [2, 2, 2, 2, 2, 1]),
        (3, 2, 1, [2], [1, 1, 1]),
        (1, 7, 1, [], [1]),
    ],
)
def test_batch_that_does_not_fit_is_halved_and_nothing_is_lost(n_items, size, most, failed, done):
    gpu = SmallMemory(most)
    features = BatchSizer(size, 1).encode(n_items, gpu.encode)
    assert features[:, 0].tolist() == list(range(n_items))
    assert (gpu.failed, gpu.done) == (failed, done)


def test_size_that_was_found_is_remembered():
    sizer, gpu = BatchSizer(32, 1), SmallMemory(9)
    sizer.encode(40, gpu.encode)
    assert sizer.size == 8
    gpu.failed.clear()
    sizer.encode(40, gpu.encode)
    assert gpu.failed == []


def test_memory_that_fills_later_halves_again():
    sizer, gpu = BatchSizer(8, 1), SmallMemory(8)
    sizer.encode(8, gpu.encode)
    gpu.most = 3
    assert len(sizer.encode(8, gpu.encode)) == 8
    assert sizer.size == 2


def test_single_item_that_does_not_fit_is_an_error():
    import torch

    with pytest.raises(torch.cuda.OutOfMemoryError):
        BatchSizer(4, 1).encode(4, SmallMemory(0).encode)


def test_other_errors_are_not_caught():
    def fail(_batch):
        raise RuntimeError("another fault")

    with pytest.raises(RuntimeError, match="another fault"):
        BatchSizer(4, 1).encode(4, fail)


@pytest.mark.parametrize(("has_gpu", "size"), [(True, 2_048), (False, 32)])
def test_automatic_size_is_large_on_a_gpu_and_fixed_without(monkeypatch, has_gpu, size):
    monkeypatch.setattr("torch.cuda.is_available", lambda: has_gpu)
    assert BatchSizer(AUTO, 2_048).size == size
