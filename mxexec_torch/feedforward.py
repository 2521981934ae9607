"""FeedForward, the training interface before Module. Public as mx.model.FeedForward."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import io, metric, ndarray
from . import optimizer as opt
from . import symbol as sym
from .base import _as_list
from .callback import LogValidationMetricsCallback
from .context import Context, cpu
from .executor_manager import DataParallelExecutorManager, _check_arguments, _load_data
from .initializer import Uniform
from .model import (
    BatchEndParam,
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
    load_checkpoint,
    save_checkpoint,
)  # fmt: skip

__all__ = ["FeedForward"]


def _call(callbacks: Any, *args: Any) -> None:
    for callback in _as_list(callbacks) if callbacks else ():
        callback(*args)


def _typed(entries: Any) -> dict[str, Any]:
    return {entry[0]: getattr(entry, "dtype", np.float32) for entry in entries}


class FeedForward:
    """A symbol (or a function bucket key -> symbol) with parameters, trained and run on arrays or iterators.

    epoch_size: batches of an epoch, None for all data. numpy_batch_size: batch size for arrays. kwargs: settings of the optimizer.
    """

    def __init__(
        self, symbol: Any, ctx: Any = None, num_epoch: int | None = None, epoch_size: int | None = None, optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01), numpy_batch_size: int = 128, arg_params: Any = None, aux_params: Any = None,  # noqa: B008
        allow_extra_params: bool = False, begin_epoch: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        text = "mxnet.model.FeedForward has been deprecated. Please use mxnet.mod.Module instead."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        self.symbol = symbol if isinstance(symbol, sym.Symbol) else None
        self.sym_gen = None if self.symbol is not None else symbol
        assert self.symbol is not None or callable(symbol), "symbol must be a Symbol or a function"
        self.arg_params = arg_params
        self.aux_params = aux_params
        self.allow_extra_params = allow_extra_params
        self.argument_checked = False
        if self.sym_gen is None:
            self._check_arguments()
        self.ctx = [cpu()] if ctx is None else [ctx] if isinstance(ctx, Context) else ctx
        self.num_epoch = num_epoch
        self.epoch_size = epoch_size
        self.kwargs = dict(kwargs)
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self.begin_epoch = begin_epoch
        self._pred_exec: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pred_exec": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # -- parameters -------------------------------------------------------------------------------------------------------------
    def _check_arguments(self) -> None:
        if self.argument_checked:
            return
        assert self.symbol is not None
        self.argument_checked = True
        _check_arguments(self.symbol)
        if self.allow_extra_params:
            arguments, states = set(self.symbol.list_arguments()), set(self.symbol.list_auxiliary_states())
            self.arg_params = {k: v for k, v in self.arg_params.items() if k in arguments} if self.arg_params else self.arg_params
            self.aux_params = {k: v for k, v in self.aux_params.items() if k in states} if self.aux_params else self.aux_params

    @staticmethod
    def _is_data_arg(name: str) -> bool:
        return name.endswith(("data", "label"))

    def _init_params(self, inputs: Any, overwrite: bool = False) -> tuple[list[str], list[str], list[str]]:
        """First values of what has none yet; (names of arguments, parameters, auxiliary states)."""
        assert self.symbol is not None
        shapes = {entry[0]: entry[1] for entry in inputs}
        arg_names, aux_names = self.symbol.list_arguments(), self.symbol.list_auxiliary_states()
        arg_shapes, _, aux_shapes = self.symbol.infer_shape(**shapes)
        arg_types, _, aux_types = self.symbol.infer_type(**_typed(inputs))
        assert arg_shapes is not None and arg_types is not None, "the shapes and types of the inputs are not enough"
        made: list[dict[str, Any]] = []
        for names, all_shapes, types, given in (
            (arg_names, arg_shapes, arg_types, self.arg_params), (aux_names, aux_shapes, aux_types, self.aux_params),
        ):  # fmt: skip
            values: dict[str, Any] = {}
            for name, shape, dtype in zip(names, all_shapes, types, strict=True):
                if name in shapes:
                    continue
                values[name] = ndarray.zeros(shape=shape, dtype=dtype)
                if given and name in given and not overwrite:
                    values[name][:] = given[name]
                else:
                    self.initializer(name, values[name])
            made.append(values)
        self.arg_params, self.aux_params = made
        return arg_names, list(made[0]), aux_names

    # -- data -------------------------------------------------------------------------------------------------------------------
    def _init_iter(self, X: Any, y: Any, is_train: bool) -> Any:  # noqa: N803 - MXNet's name
        """An iterator over arrays; iterators pass through. Errors: ValueError, TypeError."""
        if not isinstance(X, (np.ndarray, ndarray.NDArray)):
            if not isinstance(X, io.DataIter):
                raise TypeError("X must be DataIter, NDArray or numpy.ndarray")
            return X
        if y is None:
            if is_train:
                raise ValueError("y must be specified when X is numpy.ndarray")
            y = np.zeros(X.shape[0])
        if not isinstance(y, (np.ndarray, ndarray.NDArray)):
            raise TypeError("y must be ndarray when X is numpy.ndarray")
        if X.shape[0] != y.shape[0]:
            raise ValueError("The numbers of data points and labels not equal")
        if y.ndim == 2 and y.shape[1] == 1:
            y = y.reshape((-1,))
        if y.ndim != 1:
            raise ValueError("Label must be 1D or 2D (with 2nd dimension being 1)")
        size = min(X.shape[0], self.numpy_batch_size)
        return io.NDArrayIter(X, y, size, shuffle=is_train, last_batch_handle="roll_over" if is_train else "pad")

    def _init_eval_iter(self, eval_data: Any) -> Any:
        """An iterator over evaluation data: an iterator, or a pair of arrays or lists. Errors: ValueError, TypeError."""
        if eval_data is None or isinstance(eval_data, io.DataIter):
            return eval_data
        if not isinstance(eval_data, (tuple, list)) or len(eval_data) != 2:
            raise TypeError("Eval data must be DataIter, or NDArray/numpy.ndarray/list pair (i.e. tuple/list of length 2)")
        data, label = eval_data
        if data is None:
            raise ValueError("Eval data is NONE")
        if label is None and isinstance(data, io.DataIter):
            return data
        data, label = (np.array(part) if isinstance(part, list) else part for part in (data, label))
        return self._init_iter(data, label, is_train=True)

    # -- inference --------------------------------------------------------------------------------------------------------------
    def _init_predictor(self, input_shapes: Any, type_dict: Any = None) -> None:
        """Binds an executor for these inputs, unless the one at hand fits."""
        assert self.symbol is not None
        shapes = {name: array.shape for name, array in self.arg_params.items()}
        shapes.update({entry[0]: entry[1] for entry in input_shapes})
        if self._pred_exec is not None:
            wanted, _, _ = self.symbol.infer_shape(**shapes)
            assert wanted is not None, "Incomplete input shapes"
            if list(wanted) == [array.shape for array in self._pred_exec.arg_arrays]:
                return
        executor = self.symbol.simple_bind(self.ctx[0], grad_req="null", type_dict=type_dict, **shapes)
        executor.copy_params_from(self.arg_params, self.aux_params)
        _check_arguments(self.symbol)
        self._pred_exec = executor

    def _forwarded(self, data: Any, num_batch: int | None, reset: bool) -> Any:
        """Batches of an iterator after their forward pass."""
        if reset:
            data.reset()
        types = {**{name: array.dtype for name, array in self.arg_params.items()}, **_typed(data.provide_data)}
        self._init_predictor(data.provide_data, types)
        targets = [self._pred_exec.arg_dict[entry[0]] for entry in data.provide_data]
        for number, batch in enumerate(data):
            if number == num_batch:
                return
            _load_data(batch, targets)
            self._pred_exec.forward(is_train=False)
            yield number, batch

    def predict(self, X: Any, num_batch: int | None = None, return_data: bool = False, reset: bool = True) -> Any:  # noqa: N803
        """Outputs as NumPy arrays, an array where there is one output; with return_data (outputs, data, labels)."""
        source = self._init_iter(X, None, is_train=False)
        columns: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        for _, batch in self._forwarded(source, num_batch, reset):
            real = source.batch_size - (batch.pad or 0)
            parts = (self._pred_exec.outputs, batch.data, batch.label) if return_data else (self._pred_exec.outputs,)
            for column, arrays in zip(columns, parts, strict=False):
                column.append([array[0:real].asnumpy() for array in arrays])
        joined = [[np.concatenate(one) for one in zip(*column, strict=True)] for column in columns]
        results = [arrays[0] if len(arrays) == 1 else arrays for arrays in joined]
        return tuple(results) if return_data else results[0]

    def score(
        self, X: Any, eval_metric: Any = "acc", num_batch: int | None = None, batch_end_callback: Any = None, reset: bool = True  # noqa: N803
    ) -> Any:
        """The metric's value over an iterator."""
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        for nbatch, batch in self._forwarded(self._init_iter(X, None, is_train=False), num_batch, reset):
            eval_metric.update(batch.label, self._pred_exec.outputs)
            _call(batch_end_callback, BatchEndParam(epoch=0, nbatch=nbatch, eval_metric=eval_metric, locals=locals()))
        return eval_metric.get()[1]

    # -- training ---------------------------------------------------------------------------------------------------------------
    def fit(
        self, X: Any, y: Any = None, eval_data: Any = None, eval_metric: Any = "acc", epoch_end_callback: Any = None,  # noqa: N803
        batch_end_callback: Any = None, kvstore: Any = "local", logger: Any = None, work_load_list: Any = None, monitor: Any = None,
        eval_end_callback: Any = LogValidationMetricsCallback(), eval_batch_end_callback: Any = None,  # noqa: B008
    ) -> None:  # fmt: skip
        """Trains for epochs begin_epoch to num_epoch - 1."""
        data = self._init_iter(X, y, is_train=True)
        eval_data = self._init_eval_iter(eval_data)
        if self.sym_gen:
            self.symbol = self.sym_gen(data.default_bucket_key)
            self._check_arguments()
        self.kwargs["sym"] = self.symbol
        arg_names, param_names, aux_names = self._init_params([*data.provide_data, *data.provide_label])
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        store, on_store = _create_kvstore(kvstore, len(self.ctx), self.arg_params)
        optimizer = self._made_optimizer(param_names, 1 if on_store else len(self.ctx), data.batch_size)
        manager = DataParallelExecutorManager(
            symbol=self.symbol, sym_gen=self.sym_gen, ctx=self.ctx, train_data=data, param_names=param_names, arg_names=arg_names,
            aux_names=aux_names, work_load_list=work_load_list, logger=logger or logging,
        )  # fmt: skip
        if monitor:
            manager.install_monitor(monitor)
        manager.set_params(self.arg_params, self.aux_params)
        if on_store:
            store.set_optimizer(optimizer)
        if store:
            _initialize_kvstore(store, manager.param_arrays, self.arg_params, manager.param_names, on_store)
        step = _Step(manager, store, on_store, None if on_store else opt.get_updater(optimizer), len(self.ctx), monitor)
        self._epochs(
            step, data, eval_data, eval_metric, epoch_end_callback, batch_end_callback, logger or logging, eval_end_callback,
            eval_batch_end_callback,
        )  # fmt: skip

    def _made_optimizer(self, param_names: Sequence[str], devices: int, batch_size: int) -> Any:
        names = {i * devices + k: name for i, name in enumerate(param_names) for k in range(devices)}
        self.kwargs["param_idx2name"] = names
        if isinstance(self.optimizer, str):
            return opt.create(self.optimizer, rescale_grad=1.0 / batch_size, **self.kwargs)
        assert isinstance(self.optimizer, opt.Optimizer), f"optimizer must be a name or an Optimizer, not {type(self.optimizer)}"
        if not self.optimizer.idx2name:
            self.optimizer.idx2name = dict(names)
        return self.optimizer

    def _epochs(
        self, step: _Step, data: Any, eval_data: Any, eval_metric: Any, epoch_end_callback: Any, batch_end_callback: Any, logger: Any,
        eval_end_callback: Any, eval_batch_end_callback: Any,
    ) -> None:  # fmt: skip
        assert self.num_epoch is not None, "please specify number of epochs"
        data.reset()
        for epoch in range(self.begin_epoch, self.num_epoch):
            started = time.time()
            eval_metric.reset()
            nbatch = 0
            for data_batch in _epoch(data, self.epoch_size, logger, epoch):
                step(data_batch)
                step.manager.update_metric(eval_metric, data_batch.label)
                nbatch += 1
                if batch_end_callback is not None:
                    _call(batch_end_callback, BatchEndParam(epoch=epoch, nbatch=nbatch, eval_metric=eval_metric, locals=locals()))
            logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            if epoch_end_callback or epoch + 1 == self.num_epoch:
                step.manager.copy_to(self.arg_params, self.aux_params)
            _call(epoch_end_callback, epoch, self.symbol, self.arg_params, self.aux_params)
            if eval_data:
                self._evaluate(step.manager, eval_data, eval_metric, epoch, eval_end_callback, eval_batch_end_callback)

    def _evaluate(self, manager: Any, eval_data: Any, eval_metric: Any, epoch: int, at_end: Any, at_batch_end: Any) -> None:
        eval_metric.reset()
        eval_data.reset()
        done = 0
        for nbatch, eval_batch in enumerate(eval_data):
            manager.load_data_batch(eval_batch)
            manager.forward(is_train=False)
            manager.update_metric(eval_metric, eval_batch.label)
            _call(at_batch_end, BatchEndParam(epoch=epoch, nbatch=nbatch, eval_metric=eval_metric, locals=locals()))
            done += 1
        _call(at_end, BatchEndParam(epoch=epoch, nbatch=done, eval_metric=eval_metric, locals=locals()))
        eval_data.reset()

    # -- checkpoints ------------------------------------------------------------------------------------------------------------
    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Writes a checkpoint; the epoch defaults to num_epoch."""
        number = self.num_epoch if epoch is None else epoch
        assert number is not None, "give an epoch"
        save_checkpoint(prefix, number, self.symbol, self.arg_params, self.aux_params, remove_amp_cast=remove_amp_cast)

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """A model from a checkpoint, whose training would go on at that epoch."""
        symbol, arguments, auxiliary = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx=ctx, arg_params=arguments, aux_params=auxiliary, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(
        symbol: Any, X: Any, y: Any = None, ctx: Any = None, num_epoch: int | None = None, epoch_size: int | None = None,  # noqa: N803
        optimizer: Any = "sgd", initializer: Any = Uniform(0.01), eval_data: Any = None, eval_metric: Any = "acc",  # noqa: B008
        epoch_end_callback: Any = None, batch_end_callback: Any = None, kvstore: Any = "local", logger: Any = None, work_load_list: Any = None,
        eval_end_callback: Any = LogValidationMetricsCallback(), eval_batch_end_callback: Any = None, **kwargs: Any,  # noqa: B008
    ) -> FeedForward:  # fmt: skip
        """A model, trained."""
        model = FeedForward(
            symbol, ctx=ctx, num_epoch=num_epoch, epoch_size=epoch_size, optimizer=optimizer, initializer=initializer, **kwargs
        )
        model.fit(
            X, y, eval_data=eval_data, eval_metric=eval_metric, epoch_end_callback=epoch_end_callback, batch_end_callback=batch_end_callback,
            kvstore=kvstore, logger=logger, work_load_list=work_load_list, eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )  # fmt: skip
        return model


class _Step:
    """One training step on all devices."""

    def __init__(self, manager: Any, store: Any, on_store: bool, updater: Any, devices: int, monitor: Any) -> None:
        self.manager, self._store, self._on_store = manager, store, on_store
        self._updater, self._devices, self._monitor = updater, devices, monitor

    def __call__(self, batch: Any) -> None:
        manager = self.manager
        manager.load_data_batch(batch)
        if self._monitor is not None:
            self._monitor.tic()
        manager.forward(is_train=True)
        manager.backward()
        if self._on_store:
            _update_params_on_kvstore(manager.param_arrays, manager.grad_arrays, self._store, manager.param_names)
        else:
            _update_params(
                manager.param_arrays, manager.grad_arrays, updater=self._updater, num_device=self._devices, kvstore=self._store,
                param_names=manager.param_names,
            )  # fmt: skip
        if self._monitor is not None:
            self._monitor.toc_print()


def _epoch(data: Any, size: int | None, logger: Any, epoch: int) -> Any:
    """The batches of one epoch: all of the data, or `size` of them, over several passes if need be; the next epoch goes on behind."""
    done = 0
    while True:
        for batch in data:
            yield batch
            done += 1
            if size is not None and done >= size:
                return
        logger.info("Epoch[%d] Resetting Data Iterator", epoch)
        data.reset()
        if size is None or done >= size:
            return


FeedForward.__module__ = f"{__package__}.model"
