"""SVRGModule: every few epochs the gradient over all data is computed; steps in between use it to reduce their variance."""

from __future__ import annotations

import logging
from typing import Any

from ... import optimizer as opt
from ...context import cpu
from ...model import _create_kvstore
from ...module import Module
from ...ndarray.invoke import call
from ...ndarray.utils import zeros
from .svrg_optimizer import _SVRGOptimizer

__all__ = ["SVRGModule"]


class SVRGModule(Module):
    """A Module whose gradients are g(w) - g(w0) + mean g(w0), w0 being the weights of every update_freq-th epoch's begin.

    Other arguments: as for Module. Errors: TypeError and ValueError unless update_freq is a positive int.
    """

    def __init__(
        self, symbol: Any, data_names: Any = ("data",), label_names: Any = ("softmax_label",), logger: Any = logging, context: Any = cpu(),  # noqa: B008
        work_load_list: Any = None, fixed_param_names: Any = None, state_names: Any = None, group2ctxs: Any = None, compression_params: Any = None,
        update_freq: int | None = None,
    ) -> None:  # fmt: skip
        settings = (data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params)
        super().__init__(symbol, *settings)
        if not isinstance(update_freq, int):
            raise TypeError("update_freq in SVRGModule must be an integer: the number of epochs between gradients over all data")
        if update_freq <= 0:
            raise ValueError("update_freq in SVRGModule must be positive: the number of epochs between gradients over all data")
        self.update_freq = update_freq
        self._mod_aux = Module(symbol, *settings)  # holds w0
        self._param_dict: Any = None  # for each context: mean g(w0) by name
        self._ctx_len = len(self._context)

    def _reset_bind(self) -> None:
        super()._reset_bind()
        self._mod_aux._reset_bind()

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        super().reshape(data_shapes, label_shapes=label_shapes)
        self._mod_aux.reshape(data_shapes, label_shapes=label_shapes)

    def bind(
        self, data_shapes: Any, label_shapes: Any = None, for_training: bool = True, inputs_need_grad: bool = False, force_rebind: bool = False,
        shared_module: Any = None, grad_req: Any = "write",
    ) -> None:  # fmt: skip
        settings = (data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req)
        super().bind(*settings)
        if for_training:
            self._mod_aux.bind(*settings)

    # -- optimizer --------------------------------------------------------------------------------------------------------------
    def init_optimizer(
        self, kvstore: Any = "local", optimizer: Any = "sgd", optimizer_params: Any = (("learning_rate", 0.01),), force_init: bool = False
    ) -> None:
        values = self.get_params()[0]
        self._param_dict = [{name: zeros(v.shape, ctx=context) for name, v in values.items()} for context in self._context]
        wrapped = self._create_optimizer(_SVRGOptimizer.__name__, optimizer, kvstore, optimizer_params)
        super().init_optimizer(kvstore=kvstore, optimizer=wrapped, optimizer_params=optimizer_params, force_init=force_init)
        if self._kvstore:
            for index, (name, arrays) in enumerate(zip(self._exec_group.param_names, self._exec_group.param_arrays, strict=True)):
                self._kvstore.init(f"{name}_full", zeros(self._arg_params[name].shape))
                if self._update_on_kvstore:
                    self._kvstore.pull(f"{name}_full", arrays, priority=-index)

    def _create_optimizer(self, optimizer: str, default_opt: Any, kvstore: Any, optimizer_params: Any) -> Any:
        """The wrapping optimizer; names of the gradients over all data get indices behind those of the parameters."""
        store, on_store = _create_kvstore(kvstore, self._ctx_len, self._arg_params)
        devices = 1 if on_store else self._ctx_len
        names = {i * devices + k: name for k in range(devices) for i, name in enumerate(self._exec_group.param_names)}
        names.update(enumerate((f"{name}_full" for name in self._param_dict[0]), max(names) + 1))
        params = {"rescale_grad": self._rescale(store), **dict(optimizer_params)}
        return opt.create(optimizer, default_optimizer=default_opt, param_idx2name=names, **params)

    # -- a batch ----------------------------------------------------------------------------------------------------------------
    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        super().forward(data_batch, is_train)
        if is_train:
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        super().backward(out_grads)
        if self._mod_aux.binded:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        self._update_svrg_gradients()
        super().update()

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        super().prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self._mod_aux.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)

    # -- gradients --------------------------------------------------------------------------------------------------------------
    def _begin_epoch(self, epoch: int, train_data: Any) -> None:
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
        train_data.reset()

    def update_full_grads(self, train_data: Any) -> None:
        """Takes the weights as w0 and averages its gradients over all data. The sums start from the average before, as in MXNet."""
        self._mod_aux.set_params(*self.get_params())
        train_data.reset()
        names, grads = self._exec_group.param_names, self._mod_aux._exec_group.grad_arrays
        batches, padding = 0, 0
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            batches += 1
            padding = batch.pad or 0
            for device, sums in enumerate(self._param_dict):
                for index, name in enumerate(names):
                    sums[name] = call("elemwise_add", sums[name], grads[index][device])
        count = batches - padding / train_data.batch_size
        for name in names:
            for sums in self._param_dict:
                sums[name] /= count
            if self._kvstore:
                self._accumulate_kvstore(name, [sums[name] for sums in self._param_dict])

    def _accumulate_kvstore(self, key: str, value: Any) -> None:
        """Sums the averages over devices and shares them out."""
        self._kvstore.push(f"{key}_full", value)
        self._kvstore._barrier()
        self._kvstore.pull(f"{key}_full", value)
        self._allocate_gradients(key, value)

    def _allocate_gradients(self, key: str, value: Any) -> None:
        for sums, total in zip(self._param_dict, value, strict=True):
            sums[key] = total / self._ctx_len

    def _svrg_grads_update_rule(self, g_curr_batch_curr_weight: Any, g_curr_batch_special_weight: Any, g_special_weight_all_batch: Any) -> Any:
        """g(w) - g(w0) + mean g(w0), in the first array."""
        for now, then, mean in zip(g_curr_batch_curr_weight, g_curr_batch_special_weight, g_special_weight_all_batch, strict=True):
            now -= then
            now += mean
        return g_curr_batch_curr_weight

    def _update_svrg_gradients(self) -> None:
        group, before = self._exec_group, self._mod_aux._exec_group
        for device, means in enumerate(self._param_dict):
            for index, name in enumerate(group.param_names):
                triple = group.grad_arrays[index][device], before.grad_arrays[index][device], means[name]
                group.grad_arrays[index][device] = self._svrg_grads_update_rule(*triple)
