"""DataLoader: batches of a dataset, made in this process, in threads or in worker processes."""

from __future__ import annotations

import io
import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterator
from multiprocessing.pool import ThreadPool
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import torch
import torch.multiprocessing  # noqa: F401 - teaches ForkingPickler to share tensors

from ... import context
from ... import ndarray as nd
from ...ndarray.core import wrap
from ...util import is_np_array, is_np_shape, set_np
from . import sampler as _sampler
from .workers import Workers

__all__ = ["DataLoader"]


# -- batches ------------------------------------------------------------------------------------------------------------------
def default_batchify_fn(data: Any) -> Any:
    """Samples as a batch: arrays stacked, tuples element by element, numbers and NumPy arrays as an array of their type."""
    if isinstance(data[0], nd.NDArray):
        return nd.stack(*data)
    if isinstance(data[0], tuple):
        return [default_batchify_fn(part) for part in zip(*data, strict=True)]
    values = np.asarray(data)
    return nd.array(values, dtype=values.dtype)


def default_mp_batchify_fn(data: Any) -> Any:
    """`default_batchify_fn` as worker processes use it."""
    return default_batchify_fn(data)


def _as_in_context(data: Any, ctx: Any) -> Any:
    """Nested lists of arrays on a context; anything else stays as it is."""
    if isinstance(data, nd.NDArray):
        return data.as_in_context(ctx)
    if isinstance(data, (list, tuple)):
        return [_as_in_context(part, ctx) for part in data]
    return data


# -- workers ------------------------------------------------------------------------------------------------------------------
_worker_dataset: Any = None


def _worker_initializer(dataset: Any, active_shape: bool, active_array: bool) -> None:
    """What a worker process does first."""
    global _worker_dataset
    _worker_dataset = dataset
    torch.set_num_threads(1)  # the thread pool does not survive a fork
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    set_np(shape=active_shape, array=active_array)


def _thread_worker_initializer(active_shape: bool, active_array: bool) -> None:
    set_np(shape=active_shape, array=active_array)


class _BatchPickler(ForkingPickler):
    """Dense arrays travel in shared memory: the message holds where they are."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is nd.NDArray and obj.context.device_type != "gpu":
            return wrap, (obj._t.detach(), obj.context)
        return NotImplemented


def _packed(answer: Any) -> bytes:
    buffer = io.BytesIO()
    _BatchPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(answer)
    return buffer.getvalue()


def _worker_fn(samples: Any, batchify_fn: Callable[[Any], Any], dataset: Any = None) -> Any:
    """A batch, in a worker process."""
    return batchify_fn([_worker_dataset[i] for i in samples])


def _thread_worker_fn(samples: Any, batchify_fn: Callable[[Any], Any], dataset: Any) -> Any:
    return batchify_fn([dataset[i] for i in samples])


class _MultiWorkerIter:
    """One pass: batches are asked for ahead and returned in order."""

    def __init__(
        self, worker_pool: Any, batchify_fn: Callable[[Any], Any], batch_sampler: Any, pin_memory: bool = False, pin_device_id: int = 0,
        worker_fn: Callable[..., Any] = _worker_fn, prefetch: int = 0, dataset: Any = None, data_loader: Any = None, timeout: int = 120,
    ) -> None:  # fmt: skip
        self._worker_pool, self._batchify_fn, self._batch_sampler = worker_pool, batchify_fn, batch_sampler
        self._pin = context.cpu_pinned(pin_device_id) if pin_memory else None
        self._worker_fn, self._dataset, self._timeout = worker_fn, dataset, timeout
        self._data_loader = data_loader  # keeps the pool alive
        self._waiting: list[Any] = []
        self._indices = iter(batch_sampler)
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def _push_next(self) -> None:
        samples = next(self._indices, None)
        if samples is not None:
            self._waiting.append(self._worker_pool.apply_async(self._worker_fn, (samples, self._batchify_fn, self._dataset)))

    def __next__(self) -> Any:
        self._push_next()
        if not self._waiting:
            raise StopIteration
        try:
            found = self._waiting.pop(0).get(self._timeout)
        except multiprocessing.TimeoutError:
            print(
                f"Worker timed out after {self._timeout} seconds: give the DataLoader a larger timeout where the transform is slow, "
                "or fewer workers where memory is short"
            )
            raise
        except Exception:
            self._worker_pool.terminate()
            raise
        batch = pickle.loads(found) if isinstance(found, bytes) else found  # bytes of workers of other packages, which MXNet's loader reads too
        return batch if self._pin is None else _as_in_context(batch, self._pin)

    next = __next__

    def __iter__(self) -> _MultiWorkerIter:
        return self


def _batches_of(
    dataset: Any, batch_size: int | None, shuffle: bool, sampler: Any, last_batch: str | None, batch_sampler: Any
) -> Any:
    """The batch sampler that the arguments describe. Errors: ValueError where they say too little or contradict each other."""
    if batch_sampler is not None:
        if batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ValueError("batch_size, shuffle, sampler and last_batch must not be specified if batch_sampler is specified.")
        return batch_sampler
    if batch_size is None:
        raise ValueError("batch_size must be specified unless batch_sampler is specified")
    if sampler is not None and shuffle:
        raise ValueError("shuffle must not be specified if sampler is specified")
    if sampler is None:
        sampler = (_sampler.RandomSampler if shuffle else _sampler.SequentialSampler)(len(dataset))
    return _sampler.BatchSampler(sampler, batch_size, last_batch or "keep")


class DataLoader:
    """Iterates over batches of a dataset.

    num_workers: processes (threads with thread_pool) that make batches ahead, `prefetch` of them (twice the workers). batchify_fn: makes a
    batch of a list of samples. pin_memory: batches are on cpu_pinned. auto_reload: the next pass begins to load when one ends.
    timeout: seconds to wait for a batch.
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = None, shuffle: bool = False, sampler: Any = None, last_batch: str | None = None,
        batch_sampler: Any = None, batchify_fn: Callable[[Any], Any] | None = None, num_workers: int = 0, pin_memory: bool = False,
        pin_device_id: int = 0, prefetch: int | None = None, thread_pool: bool = False, timeout: int = 120, auto_reload: bool = False,
    ) -> None:  # fmt: skip
        assert timeout > 0, f"timeout must be positive, given {timeout}"
        self._worker_pool: Any = None
        self._dataset, self._pin_memory, self._pin_device_id = dataset, pin_memory, pin_device_id
        self._thread_pool, self._timeout, self.auto_reload = thread_pool, timeout, auto_reload
        self._batch_sampler = _batches_of(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler)
        self._num_workers = max(num_workers, 0)
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else int(prefetch))
        self._batchify_fn = batchify_fn or (default_mp_batchify_fn if self._num_workers else default_batchify_fn)
        if self._num_workers:
            switches = (is_np_shape(), is_np_array())
            if thread_pool:
                self._worker_pool = ThreadPool(self._num_workers, initializer=_thread_worker_initializer, initargs=switches)
            else:
                self._worker_pool = Workers(self._num_workers, _worker_initializer, (dataset, *switches), _packed)
        self._iter: Any = None
        if auto_reload:
            self.refresh()

    def __iter__(self) -> Iterator[Any]:
        if self._iter is None:
            self.refresh()
        current, self._iter = self._iter, None
        yield from current
        if self._iter is None and self.auto_reload:
            self.refresh()

    def _here(self) -> Iterator[Any]:
        pin = context.cpu_pinned(self._pin_device_id) if self._pin_memory else None
        for samples in self._batch_sampler:
            batch = self._batchify_fn([self._dataset[i] for i in samples])
            yield batch if pin is None else _as_in_context(batch, pin)

    def _prefetch_iter(self) -> Any:
        if self._worker_pool is None:
            return self._here()
        return _MultiWorkerIter(
            self._worker_pool, self._batchify_fn, self._batch_sampler, self._pin_memory, self._pin_device_id,
            _thread_worker_fn if self._thread_pool else _worker_fn, self._prefetch, self._dataset if self._thread_pool else None, self,
            self._timeout,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __del__(self) -> None:
        if self._worker_pool is not None:
            self._worker_pool.terminate()

    def refresh(self) -> None:
        """Begins a new pass, dropping what was loaded ahead."""
        self._iter = self._prefetch_iter()

    def clean(self) -> None:
        """Drops what was loaded ahead."""
        self._iter = None
