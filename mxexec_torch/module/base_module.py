"""What all modules share: the training loop, scoring and prediction, over a small set of methods that subclasses define."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import metric, ndarray
from ..base import _as_list
from ..context import cpu
from ..initializer import Uniform
from ..io import DataBatch, DataIter
from ..model import BatchEndParam
from .executor_group import _described

__all__ = ["BaseModule"]

_PARAMETER_ENDINGS = ("_weight", "_bias", "_gamma", "_beta")


def _check_input_names(symbol: Any, names: Sequence[str], typename: str, throw: bool) -> None:
    """Names that are no arguments of the symbol are an error (ValueError) or a warning."""
    arguments = symbol.list_arguments()
    for name in names:
        if name not in arguments:
            candidates = "\n\t".join(a for a in arguments if not a.endswith(_PARAMETER_ENDINGS))
            text = (
                f"You created Module with Module(..., {typename}_names={names}) but input with name '{name}' is not found in "
                f"symbol.list_arguments(). Did you mean one of:\n\t{candidates}"
            )
            if throw:
                raise ValueError(text)
            warnings.warn(text, stacklevel=4)


def _check_names_match(names: Sequence[str], shapes: Any, kind: str, throw: bool) -> None:
    if sorted(names) != sorted(entry[0] for entry in shapes):
        text = f"Data provided by {kind}_shapes don't match names specified by {kind}_names ({shapes} vs. {names})"
        if throw:
            raise ValueError(text)
        warnings.warn(text, stacklevel=5)


def _parse_data_desc(data_names: Sequence[str], label_names: Sequence[str], data_shapes: Any, label_shapes: Any) -> tuple[Any, Any]:
    """Descriptions of data and labels. Errors: ValueError when the data's names are others than `data_names`."""
    data = _described(data_shapes)
    _check_names_match(data_names, data, "data", True)
    labels = None if label_shapes is None else _described(label_shapes)
    _check_names_match(label_names, labels or [], "label", False)
    return data, labels


def _call_all(callbacks: Any, *args: Any) -> None:
    for callback in _as_list(callbacks) if callbacks is not None else ():
        callback(*args)


def _numbered(batches: Any, limit: int | None) -> Iterator[tuple[int, Any]]:
    for number, batch in enumerate(batches):
        if limit is not None and number == limit:
            return
        yield number, batch


class BaseModule:
    """Base class. Life: bind -> init_params -> init_optimizer -> (forward, backward, update)*; `fit` does all of it.

    binded, params_initialized, optimizer_initialized: how far it has come.
    """

    def __init__(self, logger: Any = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Any = None
        self._total_exec_bytes = 0

    def _need(self, *, optimizer: bool = False, input_grads: bool = False) -> None:
        """Errors: AssertionError unless bound and initialised so far."""
        assert self.binded, "call bind first"
        assert self.params_initialized, "call init_params first"
        assert self.optimizer_initialized or not optimizer, "call init_optimizer first"
        assert self.inputs_need_grad or not input_grads, "bind with inputs_need_grad=True first"

    # -- loops ------------------------------------------------------------------------------------------------------------------
    def forward_backward(self, data_batch: Any) -> None:
        """Forward in training mode, then backward."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def _evaluated(self, eval_data: Any, num_batch: int | None, reset: bool, sparse_row_id_fn: Any) -> Iterator[tuple[int, Any]]:
        """Batches after their forward pass in inference mode."""
        self._need()
        if reset:
            eval_data.reset()
        for number, batch in _numbered(eval_data, num_batch):
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            yield number, batch

    def _count(self, eval_metric: Any, batch: Any) -> None:
        """Adds a batch to a metric."""
        if isinstance(batch, list):
            self.update_metric(eval_metric, [one.label for one in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, batch.label)

    def score(
        self, eval_data: Any, eval_metric: Any, num_batch: int | None = None, batch_end_callback: Any = None, score_end_callback: Any = None,
        reset: bool = True, epoch: int = 0, sparse_row_id_fn: Any = None,
    ) -> list[tuple[str, Any]]:  # fmt: skip
        """Pairs (name, value) of a metric over the data."""
        self._need()
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        done = 0
        for nbatch, eval_batch in self._evaluated(eval_data, num_batch, reset, sparse_row_id_fn):
            self._count(eval_metric, eval_batch)
            _call_all(batch_end_callback, BatchEndParam(epoch=epoch, nbatch=nbatch, eval_metric=eval_metric, locals=locals()))
            done += 1
        if score_end_callback:
            _call_all(score_end_callback, BatchEndParam(epoch=epoch, nbatch=done, eval_metric=eval_metric, locals=locals()))
        return eval_metric.get_name_value()  # type: ignore[no-any-return]

    def _unpadded(self, batch: Any) -> list[Any]:
        """The outputs without those of fill samples."""
        return [out[0 : out.shape[0] - (batch.pad or 0)] for out in self.get_outputs()]

    def iter_predict(
        self, eval_data: Any, num_batch: int | None = None, reset: bool = True, sparse_row_id_fn: Any = None
    ) -> Iterator[tuple[list[Any], int, Any]]:
        """(outputs, number, batch) for each batch; the outputs change with the next batch."""
        for number, batch in self._evaluated(eval_data, num_batch, reset, sparse_row_id_fn):
            yield self._unpadded(batch), number, batch

    def predict(
        self, eval_data: Any, num_batch: int | None = None, merge_batches: bool = True, reset: bool = True, always_output_list: bool = False,
        sparse_row_id_fn: Any = None,
    ) -> Any:  # fmt: skip
        """The outputs over an iterator (or for one array), joined, as an array where there is one output.

        merge_batches=False: a list over batches of lists of outputs. Errors: ValueError for other kinds of data.
        """
        self._need()
        if isinstance(eval_data, (ndarray.NDArray, np.ndarray)):
            self.forward(DataBatch([ndarray.array(eval_data) if isinstance(eval_data, np.ndarray) else eval_data]))
            return self.get_outputs()[0]
        if not isinstance(eval_data, DataIter):
            raise ValueError("eval_data must be of type NDArray or DataIter")
        batches = []
        for _, batch in self._evaluated(eval_data, num_batch, reset, sparse_row_id_fn):
            batches.append([out.copy() for out in self._unpadded(batch)])
        if not batches or not merge_batches:
            return batches
        assert len({len(outputs) for outputs in batches}) == 1, (
            "Cannot merge batches, as num of outputs is not the same in mini-batches. Maybe bucketing is used?"
        )
        joined = [ndarray.concatenate(list(parts)) for parts in zip(*batches, strict=True)]
        return joined[0] if len(joined) == 1 and not always_output_list else joined

    def fit(
        self, train_data: Any, eval_data: Any = None, eval_metric: Any = "acc", epoch_end_callback: Any = None, batch_end_callback: Any = None,
        kvstore: Any = "local", optimizer: Any = "sgd", optimizer_params: Any = (("learning_rate", 0.01),), eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None, initializer: Any = Uniform(0.01), arg_params: Any = None, aux_params: Any = None,  # noqa: B008
        allow_missing: bool = False, force_rebind: bool = False, force_init: bool = False, begin_epoch: int = 0, num_epoch: int | None = None,
        validation_metric: Any = None, monitor: Any = None, sparse_row_id_fn: Any = None,
    ) -> None:  # fmt: skip
        """Binds, initialises and trains for epochs begin_epoch to num_epoch - 1; scores eval_data after each.

        Callbacks at a batch's end get a BatchEndParam, at an epoch's end (epoch, symbol, arg_params, aux_params).
        """
        assert num_epoch is not None, "please specify number of epochs"
        self.bind(
            data_shapes=train_data.provide_data, label_shapes=train_data.provide_label, for_training=True, force_rebind=force_rebind
        )
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(
            initializer=initializer, arg_params=arg_params, aux_params=aux_params, allow_missing=allow_missing, force_init=force_init
        )
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        if validation_metric is None:
            validation_metric = eval_metric
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            started = time.time()
            eval_metric.reset()
            self._begin_epoch(epoch, train_data)
            values = self._train_epoch(epoch, train_data, eval_metric, batch_end_callback, monitor, sparse_row_id_fn)
            for name, value in values:
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)  # the mean over contexts goes back to all of them
            _call_all(epoch_end_callback, epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                scores = self.score(
                    eval_data, validation_metric, score_end_callback=eval_end_callback, batch_end_callback=eval_batch_end_callback, epoch=epoch
                )
                for name, value in scores:
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _begin_epoch(self, epoch: int, train_data: Any) -> None:
        """Called by fit before the first batch of an epoch."""

    def _train_epoch(
        self, epoch: int, train_data: Any, eval_metric: Any, batch_end_callback: Any, monitor: Any, sparse_row_id_fn: Any
    ) -> list[tuple[str, Any]]:
        """One pass over the data; the metric at its end. The next batch is fetched before the callbacks of this one run."""
        batches = iter(train_data)
        data_batch = next(batches)
        nbatch = 0
        name_values: list[tuple[str, Any]] = []
        while data_batch is not None:
            if monitor is not None:
                monitor.tic()
            self.forward_backward(data_batch)
            self.update()
            self._count(eval_metric, data_batch)
            next_data_batch = next(batches, None)
            if next_data_batch is not None:
                self.prepare(next_data_batch, sparse_row_id_fn=sparse_row_id_fn)
            if monitor is not None:
                monitor.toc_print()
            if next_data_batch is None:
                name_values = eval_metric.get_global_name_value()
            if batch_end_callback is not None:
                _call_all(batch_end_callback, BatchEndParam(epoch=epoch, nbatch=nbatch, eval_metric=eval_metric, locals=locals()))
            nbatch += 1
            data_batch = next_data_batch
        return name_values

    # -- description ------------------------------------------------------------------------------------------------------------
    @property
    def data_names(self) -> Any:
        """Names of the data."""
        raise NotImplementedError

    @property
    def output_names(self) -> Any:
        """Names of the outputs."""
        raise NotImplementedError

    @property
    def data_shapes(self) -> Any:
        """(name, shape) of the data, once bound."""
        raise NotImplementedError

    @property
    def label_shapes(self) -> Any:
        """(name, shape) of the labels, once bound; None without labels."""
        raise NotImplementedError

    @property
    def output_shapes(self) -> Any:
        """(name, shape) of the outputs, once bound."""
        raise NotImplementedError

    @property
    def symbol(self) -> Any:
        """The symbol, None where there is none."""
        return self._symbol

    # -- parameters -------------------------------------------------------------------------------------------------------------
    def get_params(self) -> tuple[Any, Any]:
        """(arguments, auxiliary states) by name, on the CPU."""
        raise NotImplementedError

    def init_params(
        self, initializer: Any = Uniform(0.01), arg_params: Any = None, aux_params: Any = None, allow_missing: bool = False,  # noqa: B008
        force_init: bool = False, allow_extra: bool = False,
    ) -> None:  # fmt: skip
        """First values: from the given arrays, the others (with allow_missing) from the initializer."""
        raise NotImplementedError

    def set_params(
        self, arg_params: Any, aux_params: Any, allow_missing: bool = False, force_init: bool = True, allow_extra: bool = False
    ) -> None:
        """Copies values into the parameters."""
        self.init_params(
            initializer=None, arg_params=arg_params, aux_params=aux_params, allow_missing=allow_missing, force_init=force_init,
            allow_extra=allow_extra,
        )  # fmt: skip

    def save_params(self, fname: str) -> None:
        """Writes the parameters to a file."""
        named = zip(("arg", "aux"), self.get_params(), strict=True)
        ndarray.save(fname, {f"{kind}:{name}": array.as_in_context(cpu()) for kind, params in named for name, array in params.items()})

    def load_params(self, fname: str) -> None:
        """Reads the parameters from a file. Errors: ValueError for names of another form."""
        found: dict[str, dict[str, Any]] = {"arg": {}, "aux": {}}
        for key, array in ndarray.load(fname).items():
            kind, _, name = key.partition(":")
            if kind not in found:
                raise ValueError(f"Invalid param file {fname}: {key!r} is neither 'arg:name' nor 'aux:name'")
            found[kind][name] = array
        self.set_params(found["arg"], found["aux"])

    def get_states(self, merge_multi_context: bool = True) -> Any:
        """The states; none here."""
        self._need()
        assert not merge_multi_context, "states cannot be merged"
        return []

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the states; there are none here."""
        self._need()
        assert not states and not value, "this module has no states"

    def install_monitor(self, mon: Any) -> None:
        """Watches the executors."""
        raise NotImplementedError

    # -- a batch ----------------------------------------------------------------------------------------------------------------
    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Makes ready for a batch before its forward."""
        if sparse_row_id_fn is not None:
            warnings.warn("sparse_row_id_fn is not invoked for BaseModule.", UserWarning, stacklevel=2)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Computes the outputs; is_train: as bound unless given."""
        raise NotImplementedError

    def backward(self, out_grads: Any = None) -> None:
        """Computes the gradients; out_grads: gradients of the outputs that are no losses."""
        raise NotImplementedError

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        """The outputs of the last forward."""
        raise NotImplementedError

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """The gradients of the data of the last backward."""
        raise NotImplementedError

    def update(self) -> None:
        """Updates the parameters from their gradients."""
        raise NotImplementedError

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Adds the last forward's outputs to a metric."""
        raise NotImplementedError

    # -- preparation ------------------------------------------------------------------------------------------------------------
    def bind(
        self, data_shapes: Any, label_shapes: Any = None, for_training: bool = True, inputs_need_grad: bool = False, force_rebind: bool = False,
        shared_module: Any = None, grad_req: Any = "write",
    ) -> None:  # fmt: skip
        """Makes executors for these shapes."""
        raise NotImplementedError

    def init_optimizer(
        self, kvstore: Any = "local", optimizer: Any = "sgd", optimizer_params: Any = (("learning_rate", 0.01),), force_init: bool = False
    ) -> None:
        """Makes the optimizer."""
        raise NotImplementedError
