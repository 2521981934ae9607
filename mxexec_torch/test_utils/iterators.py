"""Data iterators for tests."""

from __future__ import annotations

from typing import Any

from ..io import DataBatch, DataIter, MNISTIter
from .datasets import get_mnist_ubyte

__all__ = ["DummyIter", "get_mnist_iterator"]


class DummyIter(DataIter):
    """Gives the first batch of another iterator again and again, without end: for measuring speed."""

    def __init__(self, real_iter: Any) -> None:
        super().__init__()
        self.real_iter = real_iter
        self.provide_data, self.provide_label = real_iter.provide_data, real_iter.provide_label
        self.batch_size = real_iter.batch_size
        self.the_batch = next(real_iter)

    def __iter__(self) -> DummyIter:
        return self

    def next(self) -> DataBatch:
        """The batch."""
        return self.the_batch  # type: ignore[no-any-return]


def get_mnist_iterator(batch_size: int, input_shape: tuple[int, ...], num_parts: int = 1, part_index: int = 0) -> tuple[DataIter, DataIter]:
    """(training, validation) iterators over the MNIST digits, which are downloaded to data/. input_shape: (784,) or (1,28,28)."""
    get_mnist_ubyte()
    common = {"batch_size": batch_size, "input_shape": input_shape, "flat": len(input_shape) != 3}
    train = MNISTIter(
        image="data/train-images-idx3-ubyte", label="data/train-labels-idx1-ubyte", shuffle=True, num_parts=num_parts, part_index=part_index,
        **common,
    )  # fmt: skip
    return train, MNISTIter(image="data/t10k-images-idx3-ubyte", label="data/t10k-labels-idx1-ubyte", num_parts=num_parts, part_index=part_index, **common)
