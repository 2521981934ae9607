"""mx.executor_manager: executors on several devices, as FeedForward trains them. Old packages import the underscored names."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["DataParallelExecutorGroup", "DataParallelExecutorManager"]


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Slices of a batch for each device, in proportion to the work loads; the last device takes the rest.

    Errors: ValueError when a device would get nothing.
    """
    total = sum(work_load_list)
    counts = [round(load * batch_size / total) for load in work_load_list]
    counts[-1] += batch_size - sum(counts)
    slices, end = [], 0
    for count in counts:
        begin = int(min(end, batch_size))
        end = int(min(begin + count, batch_size))
        if begin >= end:
            raise ValueError("Too many slices. Some splits are empty.")
        slices.append(slice(begin, end))
    return slices


def _check_arguments(symbol: Any) -> None:
    """Errors: ValueError when two arguments or two auxiliary states share a name."""
    for what, names in (("argument", symbol.list_arguments()), ("auxiliary param", symbol.list_auxiliary_states())):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise ValueError(
                    f'Find duplicated {what} name "{name}", please make the weight name non-duplicated(using name arguments), '
                    f"{what}s are {names}"
                )
            seen.add(name)


def _load_general(data: Sequence[Any], targets: Sequence[Any]) -> None:
    """Copies each array into its targets: one array, or (slice of the batch, array) per device."""
    for source, target in zip(data, targets, strict=False):
        if isinstance(target, (list, tuple)):
            for part, destination in target:
                source[part].copyto(destination)
        else:
            source.copyto(target)


def _load_data(batch: Any, targets: Sequence[Any]) -> None:
    """Copies a batch's data into the bound arrays."""
    _load_general(batch.data, targets)


def _load_label(batch: Any, targets: Sequence[Any]) -> None:
    """Copies a batch's labels into the bound arrays."""
    _load_general(batch.label, targets)


class DataParallelExecutorGroup:
    """One executor of a symbol for each context, bound for a part of the batch."""

    def __init__(
        self, sym: Any, arg_names: Sequence[str], param_names: Sequence[str], ctx: Sequence[Any], slices: Sequence[slice], train_data: Any,
        shared_group: DataParallelExecutorGroup | None = None,
    ) -> None:  # fmt: skip
        _check_arguments(sym)
        self.shared_data_arrays: list[Any] = [{} for _ in ctx] if shared_group is None else shared_group.shared_data_arrays
        self.data_names = [entry[0] for entry in train_data.provide_data]
        self.label_names = [entry[0] for entry in train_data.provide_label]
        self.aux_names = sym.list_auxiliary_states()
        self.param_idx = [i for i, name in enumerate(arg_names) if name in param_names]
        self.param_names = [arg_names[i] for i in self.param_idx]
        self.slices = slices
        inputs = [*train_data.provide_data, *train_data.provide_label]
        types = {entry[0]: getattr(entry, "dtype", np.float32) for entry in inputs}
        requests = {name: "write" if name in self.param_names else "null" for name in arg_names}
        self.train_execs: list[Any] = []
        for i, (context, part) in enumerate(zip(ctx, slices, strict=True)):
            shapes = {entry[0]: (part.stop - part.start, *entry[1][1:]) for entry in inputs}
            self.train_execs.append(
                sym.simple_bind(
                    ctx=context, grad_req=requests, type_dict=types, shared_arg_names=list(self.param_names),
                    shared_exec=None if shared_group is None else shared_group.train_execs[i], shared_buffer=self.shared_data_arrays[i], **shapes,
                )
            )  # fmt: skip
        execs = self.train_execs
        self.data_arrays = [list(zip(slices, (e.arg_dict[name] for e in execs), strict=True)) for name in self.data_names]
        self.label_arrays = [list(zip(slices, (e.arg_dict[name] for e in execs), strict=True)) for name in self.label_names]
        self.param_arrays = [[e.arg_arrays[i] for e in execs] for i in self.param_idx]
        self.grad_arrays = [[e.grad_arrays[i] for e in execs] for i in self.param_idx]
        self.aux_arrays = [[e.aux_arrays[i] for e in execs] for i in range(len(self.aux_names))]

    def load_data_batch(self, data_batch: Any) -> None:
        """Copies a batch to the devices."""
        _load_data(data_batch, self.data_arrays)
        _load_label(data_batch, self.label_arrays)

    def forward(self, is_train: bool = False) -> None:
        """Runs all executors."""
        for one in self.train_execs:
            one.forward(is_train=is_train)

    def backward(self) -> None:
        """Computes all gradients."""
        for one in self.train_execs:
            one.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Adds the outputs to a metric; pre_sliced: labels are lists, one for each executor."""
        for position, (one, part) in enumerate(zip(self.train_execs, self.slices, strict=True)):
            metric.update(labels[position] if pre_sliced else [label[part] for label in labels], one.outputs)


class DataParallelExecutorManager:
    """Executor groups, one for each bucket where `sym_gen` makes symbols by bucket key."""

    def __init__(
        self, symbol: Any, ctx: Sequence[Any], train_data: Any, arg_names: Sequence[str], param_names: Sequence[str], aux_names: Sequence[str],
        work_load_list: list[float] | None = None, logger: Any = None, sym_gen: Any = None,
    ) -> None:  # fmt: skip
        (logger or logging).info("Start training with %s", str(ctx))
        loads = [1] * len(ctx) if work_load_list is None else work_load_list
        assert isinstance(loads, list) and len(loads) == len(ctx), "Invalid settings for work load."
        self.slices = _split_input_slice(train_data.batch_size, loads)
        self.symbol = symbol
        self.sym_gen = sym_gen
        self.ctx = ctx
        self.arg_names = arg_names
        self.param_names = param_names
        self.aux_names = aux_names
        self.execgrp = DataParallelExecutorGroup(symbol, arg_names, param_names, ctx, self.slices, train_data)
        self.curr_execgrp: Any = None
        if sym_gen is not None:
            self.execgrp_bucket = {train_data.default_bucket_key: self.execgrp}

    def install_monitor(self, monitor: Any) -> None:
        """Watches the executors. Errors: NotImplementedError with buckets."""
        if self.sym_gen is not None:
            raise NotImplementedError("Monitoring is not implemented for bucketing")
        for one in self.execgrp.train_execs:
            monitor.install(one)

    def set_params(self, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any]) -> None:
        """Copies parameters to all devices."""
        for one in self.execgrp.train_execs:
            one.copy_params_from(arg_params, aux_params)

    def copy_to(self, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any]) -> None:
        """Writes the means over devices into the given arrays."""
        from .context import cpu

        for names, blocks, targets in ((self.param_names, self.param_arrays, arg_params), (self.aux_names, self.aux_arrays, aux_params)):
            for name, block in zip(names, blocks, strict=True):
                mean = sum(w.copyto(cpu()) for w in block) / len(block)
                mean.astype(targets[name].dtype).copyto(targets[name])

    @property
    def param_arrays(self) -> Any:
        """For each parameter the list over devices."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> Any:
        """For each gradient the list over devices."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> Any:
        """For each auxiliary state the list over devices."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Copies a batch to the devices, to those of its bucket."""
        group = self.execgrp
        if self.sym_gen is not None:
            key = data_batch.bucket_key
            if key not in self.execgrp_bucket:
                symbol = self.sym_gen(key)
                self.execgrp_bucket[key] = DataParallelExecutorGroup(
                    symbol, self.arg_names, self.param_names, self.ctx, self.slices, data_batch, shared_group=self.execgrp
                )
            group = self.execgrp_bucket[key]
        self.curr_execgrp = group
        group.load_data_batch(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Runs the current group."""
        self.curr_execgrp.forward(is_train=is_train)

    def backward(self) -> None:
        """Computes the current group's gradients."""
        self.curr_execgrp.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Adds the current group's outputs to a metric."""
        self.curr_execgrp.update_metric(metric, labels, pre_sliced)
