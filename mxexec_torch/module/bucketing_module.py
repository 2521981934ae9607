"""BucketingModule: one module for each bucket key, all with the same parameters and memory."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import ndarray, symbol
from ..context import cpu
from ..initializer import Uniform
from ..model import load_params
from ..name import NameManager
from .base_module import BaseModule, _check_input_names
from .module import Module

__all__ = ["BucketingModule"]


class BucketingModule(BaseModule):
    """Switches symbols from batch to batch by `batch.bucket_key`, for inputs of different lengths.

    sym_gen: bucket key -> (symbol, data names, label names). default_bucket_key: the largest bucket, whose memory the others use.
    Other arguments: as for Module.
    """

    def __init__(
        self, sym_gen: Callable[[Any], Any], default_bucket_key: Any = None, logger: Any = logging, context: Any = cpu(),  # noqa: B008
        work_load_list: Any = None, fixed_param_names: Sequence[str] | None = None, state_names: Sequence[str] | None = None,
        group2ctxs: Any = None, compression_params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(logger=logger)
        assert default_bucket_key is not None, "default_bucket_key must be given"
        self._default_bucket_key = default_bucket_key
        self._sym_gen = sym_gen
        self._fixed_param_names = list(fixed_param_names or ())
        self._state_names = list(state_names or ())
        generated, data_names, label_names = self._call_sym_gen(default_bucket_key)
        for names, kind, throw in (
            (data_names, "data", True), (label_names, "label", False), (self._state_names, "state", True),
            (self._fixed_param_names, "fixed_param", True),
        ):  # fmt: skip
            _check_input_names(generated, list(names or ()), kind, throw)
        self._context = context
        self._work_load_list = work_load_list
        self._group2ctxs = group2ctxs
        self._compression_params = compression_params
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Any = None
        self._curr_bucket_key: Any = None
        self._params_dirty = False
        self._monitor: Any = None
        self._grad_req: Any = None

    def _reset_bind(self) -> None:
        self.binded = False
        self._buckets = {}
        self._curr_module = None
        self._curr_bucket_key = None

    def _call_sym_gen(self, key: Any) -> Any:
        with NameManager():  # automatic names start anew, so that equal layers of all buckets have equal names
            return self._sym_gen(key)

    def _new_module(self, key: Any) -> Module:
        generated, data_names, label_names = self._call_sym_gen(key)
        return Module(
            generated, data_names, label_names, logger=self.logger, context=self._context, work_load_list=self._work_load_list,
            fixed_param_names=self._fixed_param_names, state_names=self._state_names, group2ctxs=self._group2ctxs,
            compression_params=self._compression_params,
        )  # fmt: skip

    # -- description ------------------------------------------------------------------------------------------------------------
    @property
    def data_names(self) -> Any:
        return self._curr_module.data_names if self.binded else self._call_sym_gen(self._default_bucket_key)[1]

    @property
    def output_names(self) -> Any:
        return self._curr_module.output_names if self.binded else self._call_sym_gen(self._default_bucket_key)[0].list_outputs()

    def _current(self) -> Any:
        assert self.binded, "call bind first"
        return self._curr_module

    @property
    def data_shapes(self) -> Any:
        return self._current().data_shapes

    @property
    def label_shapes(self) -> Any:
        return self._current().label_shapes

    @property
    def output_shapes(self) -> Any:
        return self._current().output_shapes

    @property
    def symbol(self) -> Any:
        return self._current().symbol

    # -- parameters -------------------------------------------------------------------------------------------------------------
    def get_params(self) -> tuple[Any, Any]:
        assert self.params_initialized, "call init_params first"
        self._curr_module._params_dirty = self._params_dirty  # another bucket's module may have updated them
        params = self._curr_module.get_params()
        self._params_dirty = False
        return params  # type: ignore[no-any-return]

    def init_params(
        self, initializer: Any = Uniform(0.01), arg_params: Any = None, aux_params: Any = None, allow_missing: bool = False,  # noqa: B008
        force_init: bool = False, allow_extra: bool = False,
    ) -> None:  # fmt: skip
        if self.params_initialized and not force_init:
            return
        assert self.binded, "call bind before initializing the parameters"
        self._curr_module.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)
        self._params_dirty = False
        self.params_initialized = True

    def set_params(
        self, arg_params: Any, aux_params: Any, allow_missing: bool = False, force_init: bool = True, allow_extra: bool = False
    ) -> None:
        if not allow_missing:
            self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self.params_initialized and not force_init:
            warnings.warn("Parameters already initialized and force_init=False. set_params call ignored.", stacklevel=2)
            return
        self._curr_module.set_params(arg_params, aux_params, allow_missing=allow_missing, force_init=force_init, allow_extra=allow_extra)
        self._params_dirty = True
        self.params_initialized = True

    def get_states(self, merge_multi_context: bool = True) -> Any:
        self._need()
        return self._curr_module.get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        self._need()
        self._curr_module.set_states(states, value)

    # -- preparation ------------------------------------------------------------------------------------------------------------
    def bind(
        self, data_shapes: Any, label_shapes: Any = None, for_training: bool = True, inputs_need_grad: bool = False, force_rebind: bool = False,
        shared_module: Any = None, grad_req: Any = "write",
    ) -> None:  # fmt: skip
        """Binds the default bucket; the others are bound when their first batch comes."""
        params = self.get_params() if self.params_initialized else None
        if force_rebind:
            self._reset_bind()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert shared_module is None, "shared_module for BucketingModule is not supported"
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.binded = True
        self._grad_req = grad_req
        key = self._default_bucket_key
        module = self._buckets.get(key) or self._new_module(key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind=False, shared_module=None, grad_req=grad_req)
        self._buckets[key] = module
        self._curr_module = module
        self._curr_bucket_key = key
        if params is not None:
            self.set_params(*params)

    def switch_bucket(self, bucket_key: Any, data_shapes: Any, label_shapes: Any = None) -> None:
        """Makes a bucket's module the current one, binding it for these shapes if it is new."""
        assert self.binded, "call bind before switching bucket"
        module = self._buckets.get(bucket_key)
        new = module is None
        if module is None:
            module = self._new_module(bucket_key)
        if not module.binded:
            before = self._curr_module
            module.bind(
                data_shapes, label_shapes, before.for_training, before.inputs_need_grad, force_rebind=False,
                shared_module=self._buckets[self._default_bucket_key], grad_req=self._grad_req,
            )  # fmt: skip
            if new and self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module = module
        self._curr_bucket_key = bucket_key

    def init_optimizer(
        self, kvstore: Any = "local", optimizer: Any = "sgd", optimizer_params: Any = (("learning_rate", 0.01),), force_init: bool = False
    ) -> None:
        self._need()
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        self._curr_module.init_optimizer(kvstore, optimizer, optimizer_params, force_init=force_init)
        for module in self._buckets.values():
            if module is not self._curr_module:
                module.borrow_optimizer(self._curr_module)
        self.optimizer_initialized = True

    # -- a batch ----------------------------------------------------------------------------------------------------------------
    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Binds the batch's bucket if it is new; the current one stays current."""
        self._need()
        before = self._curr_bucket_key
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self.switch_bucket(before, None, None)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self._need()
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.forward(data_batch, is_train=is_train)

    def backward(self, out_grads: Any = None) -> None:
        self._need()
        self._curr_module.backward(out_grads=out_grads)

    def update(self) -> None:
        self._need(optimizer=True)
        self._params_dirty = True
        self._curr_module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        self._need()
        return self._curr_module.get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        self._need(input_grads=True)
        return self._curr_module.get_input_grads(merge_multi_context=merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._need()
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        assert self.binded, "call bind first"
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    # -- checkpoints ------------------------------------------------------------------------------------------------------------
    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Writes the parameters, `prefix-<key>-symbol.json` for each bucket and the keys (ints) to `prefix.buckets`."""
        assert self._buckets, "Empty BucketingModule cannot be saved"
        self.save_params(f"{prefix}-{epoch:04d}.params")
        for key in self._buckets:
            generated, _, _ = self._sym_gen(key)
            generated.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        ndarray.save(f"{prefix}.buckets", ndarray.array(list(self._buckets), dtype=np.int32))

    @staticmethod
    def load(prefix: str, epoch: int, sym_gen: Any = None, default_bucket_key: Any = None, **kwargs: Any) -> BucketingModule:
        """A module from `save_checkpoint`."""
        assert sym_gen is not None, "sym_gen is required for loading BucketingModule"
        assert default_bucket_key is not None, "default_bucket_key is required for loading BucketingModule"
        keys = [int(key) for key in ndarray.load(f"{prefix}.buckets")[0].asnumpy()]
        symbols = {key: symbol.load(f"{prefix}-{key}-symbol.json") for key in keys}
        arguments, auxiliary = load_params(prefix, epoch)
        return BucketingModule.load_dict(symbols, sym_gen, default_bucket_key, arguments, auxiliary, **kwargs)

    @staticmethod
    def load_dict(
        sym_dict: Mapping[Any, Any] | None = None, sym_gen: Any = None, default_bucket_key: Any = None, arg_params: Any = None,
        aux_params: Any = None, **kwargs: Any,
    ) -> BucketingModule:  # fmt: skip
        """A module from symbols by bucket key and parameters."""
        for name, value in (("sym_dict", sym_dict), ("arg_params", arg_params), ("aux_params", aux_params)):
            assert value is not None, f"{name} needs to be provided for BucketingModule.load_dict"
        assert default_bucket_key is not None, "default_bucket_key needs to be provided for BucketingModule.load_dict"
        result = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        for key, loaded in (sym_dict or {}).items():
            _, data_names, label_names = sym_gen(key)
            result._buckets[key] = Module(loaded, data_names, label_names, **kwargs)
        current = result._buckets[default_bucket_key]
        current._arg_params, current._aux_params = arg_params, aux_params
        current.params_initialized = True
        result._curr_module = current
        result.params_initialized = True
        return result
