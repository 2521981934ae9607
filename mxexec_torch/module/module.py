"""Module: a symbol with parameters, executors and an optimizer."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any

from .. import optimizer as opt
from ..context import Context, cpu
from ..initializer import InitDesc, Uniform
from ..io import DataDesc
from ..model import _create_kvstore, _initialize_kvstore, _update_params, _update_params_on_kvstore, load_checkpoint
from ..ndarray import arange
from ..ndarray.utils import zeros
from .base_module import BaseModule, _check_input_names, _parse_data_desc
from .executor_group import DataParallelExecutorGroup

__all__ = ["Module"]


class Module(BaseModule):
    """Trains and runs a symbol.

    data_names, label_names, state_names: arguments that are no parameters. context: one or several, each gets a part of the batch in
    proportion to work_load_list. fixed_param_names: parameters that are not trained. group2ctxs: contexts of context groups.
    compression_params: gradient compression of the key-value store.
    Errors: ValueError for data, state and fixed names that the symbol does not have; labels only warn.
    """

    def __init__(
        self, symbol: Any, data_names: Sequence[str] | None = ("data",), label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = logging, context: Any = cpu(), work_load_list: Sequence[float] | None = None,  # noqa: B008
        fixed_param_names: Sequence[str] | None = None, state_names: Sequence[str] | None = None, group2ctxs: Any = None,
        compression_params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(logger=logger)
        self._context = [context] if isinstance(context, Context) else context
        self._work_load_list = [1] * len(self._context) if work_load_list is None else work_load_list
        assert len(self._work_load_list) == len(self._context), "work_load_list must have one entry for each context"
        self._group2ctxs = group2ctxs
        self._symbol = symbol
        self._data_names = list(data_names or ())
        self._label_names = list(label_names or ())
        self._state_names = list(state_names or ())
        self._fixed_param_names = list(fixed_param_names or ())
        for names, kind, throw in (
            (self._data_names, "data", True), (self._label_names, "label", False), (self._state_names, "state", True),
            (self._fixed_param_names, "fixed_param", True),
        ):  # fmt: skip
            _check_input_names(symbol, names, kind, throw)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in symbol.list_arguments() if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._arg_params: Any = None
        self._aux_params: Any = None
        self._params_dirty = False  # whether the executors' parameters are newer than _arg_params and _aux_params
        self._compression_params = compression_params
        self._optimizer: Any = None
        self._kvstore: Any = None
        self._update_on_kvstore: Any = None
        self._updater: Any = None
        self._preload_opt_states: str | None = None
        self._grad_req: Any = None
        self._exec_group: Any = None
        self._data_shapes: Any = None
        self._label_shapes: Any = None

    # -- checkpoints ------------------------------------------------------------------------------------------------------------
    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """A module from a checkpoint; the optimizer's states are read when it is initialised. kwargs: as for the constructor."""
        symbol, arguments, auxiliary = load_checkpoint(prefix, epoch)
        module = Module(symbol=symbol, **kwargs)
        module._arg_params, module._aux_params = arguments, auxiliary
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = f"{prefix}-{epoch:04d}.states"
        return module

    def save_checkpoint(self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True) -> None:
        """Writes `prefix-symbol.json`, `prefix-<epoch>.params` and, on request, `prefix-<epoch>.states`."""
        self._symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
        stem = f"{prefix}-{epoch:04d}"
        self.save_params(f"{stem}.params")
        logging.info('Saved checkpoint to "%s.params"', stem)
        if save_optimizer_states:
            self.save_optimizer_states(f"{stem}.states")
            logging.info('Saved optimizer state to "%s.states"', stem)

    def save_optimizer_states(self, fname: str) -> None:
        """Writes the optimizer's states to a file that MXNet reads too."""
        assert self.optimizer_initialized, "call init_optimizer first"
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
        else:
            with open(fname, "wb") as file:
                file.write(self._updater.get_states())

    def load_optimizer_states(self, fname: str) -> None:
        """Reads the optimizer's states from a file."""
        assert self.optimizer_initialized, "call init_optimizer first"
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
        else:
            with open(fname, "rb") as file:
                self._updater.set_states(file.read())

    # -- description ------------------------------------------------------------------------------------------------------------
    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names  # type: ignore[no-any-return]

    @property
    def data_shapes(self) -> Any:
        assert self.binded, "call bind first"
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        assert self.binded, "call bind first"
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        assert self.binded, "call bind first"
        return self._exec_group.get_output_shapes()

    # -- parameters -------------------------------------------------------------------------------------------------------------
    def get_params(self) -> tuple[Any, Any]:
        assert self.params_initialized, "call init_params first"
        if self._params_dirty:
            self._sync_params_from_devices()
        return self._arg_params, self._aux_params

    def init_params(
        self, initializer: Any = Uniform(0.01), arg_params: Any = None, aux_params: Any = None, allow_missing: bool = False,  # noqa: B008
        force_init: bool = False, allow_extra: bool = False,
    ) -> None:  # fmt: skip
        """Errors: RuntimeError for a parameter that the given arrays lack, without allow_missing."""
        if self.params_initialized and not force_init:
            text = "Parameters already initialized and force_init=False. init_params call ignored."
            warnings.warn(text, stacklevel=2)
            return
        assert self.binded, "call bind before initializing the parameters"
        attributes = self._symbol.attr_dict()
        for own, given in ((self._arg_params, arg_params), (self._aux_params, aux_params)):
            for name in sorted(own):
                if given is not None and name in given:
                    if given[name] is not own[name]:
                        given[name].copyto(own[name])
                elif given is not None and not allow_missing:
                    raise RuntimeError(f"{name} is not presented")
                elif initializer is not None:
                    initializer(InitDesc(name, attributes.get(name)), own[name])
                elif given is None:
                    raise TypeError(f"{name} has neither a value nor an initializer")
        self.params_initialized = True
        self._params_dirty = False
        self._exec_group.set_params(self._arg_params, self._aux_params, allow_extra=allow_extra)

    def set_params(
        self, arg_params: Any, aux_params: Any, allow_missing: bool = False, force_init: bool = True, allow_extra: bool = False
    ) -> None:
        """Copies values; with allow_missing the others stay, with allow_extra unknown names are ignored."""
        if not allow_missing:
            self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self.params_initialized and not force_init:
            warnings.warn("Parameters already initialized and force_init=False. set_params call ignored.", stacklevel=2)
            return
        self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)
        self._params_dirty = True
        self.params_initialized = True

    def _sync_params_from_devices(self) -> None:
        self._exec_group.get_params(self._arg_params, self._aux_params)
        if self._kvstore and self._update_on_kvstore:
            for name, value in sorted(self._arg_params.items()):
                if value.stype == "row_sparse":  # executors hold some rows only, the store all of them
                    self._kvstore.row_sparse_pull(name, value, row_ids=arange(0, value.shape[0], dtype="int64"))
        self._params_dirty = False

    # -- preparation ------------------------------------------------------------------------------------------------------------
    def _reset_bind(self) -> None:
        self.binded = False
        self._exec_group = None
        self._data_shapes = None
        self._label_shapes = None

    def bind(
        self, data_shapes: Any, label_shapes: Any = None, for_training: bool = True, inputs_need_grad: bool = False, force_rebind: bool = False,
        shared_module: Any = None, grad_req: Any = "write",
    ) -> None:  # fmt: skip
        """shared_module: a bound module whose parameters and memory are used. Errors: ValueError, MXNetError for shapes that do not fit."""
        if force_rebind:
            self._reset_bind()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert for_training or not inputs_need_grad, "inputs_need_grad needs for_training"
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._grad_req = grad_req
        self._data_shapes, self._label_shapes = _parse_data_desc(self.data_names, self.label_names, data_shapes, label_shapes)
        shared_group = None
        if shared_module is not None:
            ready = isinstance(shared_module, Module) and shared_module.binded and shared_module.params_initialized
            assert ready, "shared_module must be a bound Module with parameters"
            shared_group = shared_module._exec_group
            assert len(shared_group.execs) >= len(self._context), "shared_module has fewer contexts"
        self._exec_group = DataParallelExecutorGroup(
            self._symbol, self._context, self._work_load_list, self._data_shapes, self._label_shapes, self._param_names, for_training,
            inputs_need_grad, shared_group, logger=self.logger, fixed_param_names=self._fixed_param_names, grad_req=grad_req,
            group2ctxs=self._group2ctxs, state_names=self._state_names,
        )  # fmt: skip
        self._total_exec_bytes = self._exec_group._total_exec_bytes
        if shared_module is not None:
            self.params_initialized = True
            self._arg_params, self._aux_params = shared_module._arg_params, shared_module._aux_params
        elif self.params_initialized:
            self._exec_group.set_params(self._arg_params, self._aux_params)  # bound after loading
        else:
            self._arg_params = _host_copies(self._param_names, self._exec_group.param_arrays)
            self._aux_params = _host_copies(self._aux_names, self._exec_group.aux_arrays)
        if shared_module is not None and shared_module.optimizer_initialized:
            self.borrow_optimizer(shared_module)
        self.binded = True

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Executors for other shapes; the parameters stay."""
        assert self.binded, "call bind first"
        self._data_shapes, self._label_shapes = _parse_data_desc(self.data_names, self.label_names, data_shapes, label_shapes)
        self._exec_group.reshape(self._data_shapes, self._label_shapes)

    def init_optimizer(
        self, kvstore: Any = "local", optimizer: Any = "sgd", optimizer_params: Any = (("learning_rate", 0.01),), force_init: bool = False
    ) -> None:
        """An optimizer given by name gets rescale_grad = 1 / batch size unless it is among its parameters."""
        self._need()
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        if self._params_dirty:
            self._sync_params_from_devices()
        kvstore, update_on_kvstore = _create_kvstore(kvstore, len(self._context), self._arg_params)
        names, devices = self._exec_group.param_names, len(self._context)
        if update_on_kvstore:
            idx2name = dict(enumerate(names))
        else:
            idx2name = {i * devices + k: name for k in range(devices) for i, name in enumerate(names)}
        self._optimizer = self._made_optimizer(optimizer, optimizer_params, idx2name, self._rescale(kvstore))
        self._kvstore = kvstore
        self._update_on_kvstore = update_on_kvstore
        self._updater = None
        if kvstore:
            if self._compression_params:
                kvstore.set_gradient_compression(self._compression_params)
            if update_on_kvstore:
                kvstore.set_optimizer(self._optimizer)
            _initialize_kvstore(
                kvstore=kvstore, param_arrays=self._exec_group.param_arrays, arg_params=self._arg_params, param_names=self._param_names,
                update_on_kvstore=update_on_kvstore,
            )  # fmt: skip
        if not update_on_kvstore:
            self._updater = opt.get_updater(self._optimizer)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def _rescale(self, kvstore: Any) -> float:
        batch_size = self._exec_group.batch_size
        if kvstore and "dist" in kvstore.type and "_sync" in kvstore.type:
            batch_size *= kvstore.num_workers
        return float(1.0 / batch_size)

    def _made_optimizer(self, optimizer: Any, params: Any, idx2name: dict[int, str], rescale_grad: float) -> Any:
        if isinstance(optimizer, str):
            return opt.create(optimizer, sym=self.symbol, param_idx2name=idx2name, **{"rescale_grad": rescale_grad, **dict(params)})
        assert isinstance(optimizer, opt.Optimizer), f"optimizer must be a name or an Optimizer, not {type(optimizer)}"
        if optimizer.rescale_grad != rescale_grad:
            warnings.warn(
                "Optimizer created manually outside Module but rescale_grad is not normalized to 1.0/batch_size/num_workers "
                f"({optimizer.rescale_grad} vs. {rescale_grad}). Is this intended?",
                stacklevel=3,
            )
        if not optimizer.idx2name:
            optimizer.idx2name = dict(idx2name)
        return optimizer

    def borrow_optimizer(self, shared_module: Any) -> None:
        """Uses another module's optimizer."""
        assert shared_module.optimizer_initialized, "shared_module has no optimizer"
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self.optimizer_initialized = True

    # -- a batch ----------------------------------------------------------------------------------------------------------------
    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Batches of another shape reshape the module first."""
        self._need()
        shapes = _batch_shapes(data_batch)
        if shapes != [d.shape for d in self._data_shapes]:
            self._follow(data_batch, shapes)
        self._exec_group.forward(data_batch, is_train)

    def _follow(self, batch: Any, shapes: Sequence[tuple[int, ...]]) -> None:
        """Reshapes to a batch's shapes."""
        data = getattr(batch, "provide_data", None)
        if not data:
            data = [DataDesc(d.name, shape, d.dtype, d.layout) for d, shape in zip(self._data_shapes, shapes, strict=False)]
        label = getattr(batch, "provide_label", None)
        if not label:
            arrays = getattr(batch, "label", None)
            own = self._label_shapes or ()
            label = [DataDesc(d.name, a.shape, d.dtype, d.layout) for d, a in zip(own, arrays, strict=False)] if arrays else None
        self.reshape(data, label)

    def backward(self, out_grads: Any = None) -> None:
        self._need()
        self._exec_group.backward(out_grads=out_grads)

    def update(self) -> None:
        self._need(optimizer=True)
        self._params_dirty = True
        group = self._exec_group
        if self._update_on_kvstore:
            _update_params_on_kvstore(group.param_arrays, group.grad_arrays, self._kvstore, group.param_names)
        else:
            _update_params(
                group.param_arrays, group.grad_arrays, updater=self._updater, num_device=len(self._context), kvstore=self._kvstore,
                param_names=group.param_names,
            )  # fmt: skip

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        self._need()
        return self._exec_group.get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        self._need(input_grads=True)
        return self._exec_group.get_input_grads(merge_multi_context=merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> Any:
        self._need()
        return self._exec_group.get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        self._need()
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        assert self.binded, "call bind first"
        self._exec_group.install_monitor(mon)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """sparse_row_id_fn: batch -> {parameter: row numbers} to pull from the store before the forward pass."""
        assert self.binded, "call bind first"
        if sparse_row_id_fn is None:
            return
        if not self._kvstore or not self._update_on_kvstore:
            text = "Parameters are not updated in the KVStore. No need to call sparse_row_id_fn."
            warnings.warn(text, UserWarning, stacklevel=2)
            return
        rows = sparse_row_id_fn(data_batch)
        assert isinstance(rows, dict), "Expected dict output from sparse_row_id_fn"
        for name, ids in rows.items():
            position = self._exec_group.param_names.index(name)
            arrays = self._exec_group.param_arrays[position]
            if arrays[0].stype != "row_sparse":
                warnings.warn(f"{name}.stype is not 'row_sparse'. No need to perform row_sparse_pull.", UserWarning, stacklevel=2)
            else:
                self._kvstore.row_sparse_pull(name, arrays, row_ids=ids, priority=-position)


def _host_copies(names: Sequence[str], blocks: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Zeros on the CPU like the executors' arrays."""
    return {
        name: zeros(block[0].shape, dtype=block[0].dtype, stype=block[0].stype) for name, block in zip(names, blocks, strict=True)
    }


def _batch_shapes(batch: Any) -> list[tuple[int, ...]]:
    """The shapes of a batch's data; of a list of batches, those of all together."""
    if not isinstance(batch, list):
        return [array.shape for array in batch.data]
    assert batch, "Encountered empty data batch"
    shapes = []
    for position, array in enumerate(batch[0].data):
        same = all(one.data[position].shape == array.shape for one in batch)
        assert same, "All data batches in a list need to have the same shape"
        shapes.append((len(batch) * array.shape[0], *array.shape[1:]))
    return shapes
