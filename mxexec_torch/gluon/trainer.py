"""Trainer: applies an optimizer to parameters, through a key-value store where there are several contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import autograd
from .. import optimizer as opt
from ..kvstore.kvstore import KVStore
from ..model import _create_kvstore, _create_sparse_kvstore
from .parameter import Parameter, ParameterDict

__all__ = ["Trainer"]

_STALE = (
    "Gradient of Parameter `{}` on context {} has not been updated by backward since last `step`: this iteration did not use it. "
    "If that is intended, call step with ignore_stale_grad=True, which leaves such parameters as they are"
)


class Trainer:
    """`step(batch_size)` after backward updates all parameters with gradients divided by batch_size.

    params: a ParameterDict (or dict or list). optimizer: a name with optimizer_params, or an Optimizer. kvstore: 'local', 'device', a store
    or None. update_on_kvstore: whether the store updates the weights (default: where there is a store). compression_params: of the store.
    """

    def __init__(
        self, params: Any, optimizer: Any, optimizer_params: Mapping[str, Any] | None = None, kvstore: Any = "device",
        compression_params: Mapping[str, Any] | None = None, update_on_kvstore: bool | None = None,
    ) -> None:  # fmt: skip
        if isinstance(params, (dict, ParameterDict)):
            params = [params[name] for name in sorted(params.keys())]
        if not isinstance(params, (list, tuple)):
            raise ValueError(f"First argument must be a list or dict of Parameters, got {type(params)}.")
        for parameter in params:
            if not isinstance(parameter, Parameter):
                raise ValueError(f"First argument must be a list or dict of Parameters, got list of {type(parameter)}.")
            parameter._set_trainer(self)
        self._params: list[Any] = list(params)
        self._param2idx = {parameter.name: i for i, parameter in enumerate(self._params)}
        self._contains_sparse_weight = any(p._stype != "default" for p in self._params)
        self._contains_sparse_grad = any(p._grad_stype != "default" for p in self._params)
        self._compression_params = compression_params
        self._contexts = self._check_contexts()
        self._init_optimizer(optimizer, optimizer_params or {})
        self._scale = self._optimizer.rescale_grad
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._kvstore: Any = None
        self._params_to_init: list[Any] = []
        self._reset_kvstore()

    def _check_contexts(self) -> Sequence[Any]:
        contexts: Any = None
        for parameter in self._params:
            own = parameter.list_ctx()
            assert contexts is None or contexts == own, (
                f"All Parameters must be initialized on the same set of contexts, but Parameter {parameter.name} is initialized on {own} "
                f"while previous Parameters are initialized on {contexts}."
            )
            contexts = own
        return contexts or []

    def _init_optimizer(self, optimizer: Any, optimizer_params: Mapping[str, Any]) -> None:
        by_index = dict(enumerate(self._params))
        if isinstance(optimizer, opt.Optimizer):
            assert not optimizer_params, "optimizer_params must be None if optimizer is an instance of Optimizer instead of str"
            self._optimizer = optimizer
            self._optimizer.param_dict = by_index
        else:
            self._optimizer = opt.create(optimizer, param_dict=by_index, **optimizer_params)
        self._updaters = [opt.get_updater(self._optimizer) for _ in self._contexts]

    # -- the store --------------------------------------------------------------------------------------------------------------
    def _reset_kvstore(self) -> None:
        """Forgets the store; the next step makes it anew from the parameters as they are."""
        self._kvstore = None
        self._kv_initialized = False
        self._update_on_kvstore: bool | None = None
        self._distributed = False  # stores of several processes are refused when they are made
        self._params_to_init = list(self._params)

    def _init_kvstore(self) -> None:
        wanted = self._kvstore_params["update_on_kvstore"]
        store, update = self._make_store(self._kvstore_params["kvstore"], wanted)
        if store is not None:
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if update:
                store.set_optimizer(self._optimizer)
        self._kvstore, self._update_on_kvstore = store, update if store is not None else None
        self._kv_initialized = True

    def _make_store(self, kvstore: Any, wanted: bool | None) -> tuple[Any, bool]:
        """(store or None, whether it updates the weights). Errors: ValueError for a request that cannot be met."""
        if self._contains_sparse_weight:
            if wanted is False:
                raise ValueError("Cannot set update_on_kvstore=False when sparse weights are present.")
            return _create_sparse_kvstore(kvstore)
        arrays = {parameter.name: parameter.data(self._contexts[0]) for parameter in self._params}
        store, update = _create_kvstore(kvstore, len(self._contexts), arrays)
        if self._contains_sparse_grad:
            if store is not None and not isinstance(store, KVStore):
                raise ValueError(f"Cannot use {type(store)} for multi-device training with sparse gradients")
            return store, bool(wanted)
        if wanted is not None:
            update = wanted
        if update and (store is None or not store.is_capable("optimizer")):
            if wanted and store is not None:
                raise ValueError(f"Please set update_on_kvstore=False when training with {type(store)}")
            update = False
        return store, update

    def _init_params(self) -> None:
        """Gives the store the parameters that are initialized by now."""
        assert self._kv_initialized, "the store comes first"
        waiting = []
        for parameter in self._params_to_init if self._kvstore is not None else ():
            if parameter._deferred_init:
                waiting.append(parameter)
                continue
            index, arrays = self._param2idx[parameter.name], parameter._check_and_get(parameter._data, list)
            if parameter._stype != "default":
                self._kvstore.init(index, arrays[0])
            else:
                self._kvstore.broadcast(index, arrays[0], arrays)
        self._params_to_init = waiting

    def _ready(self) -> None:
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()

    def _row_sparse_pull(self, parameter: Any, out: Any, row_id: Any, full_idx: bool = False) -> None:
        """Rows of a row_sparse parameter; full_idx: all of them."""
        self._ready()
        index = self._param2idx[parameter.name]
        with autograd.pause(autograd.is_training()):  # rows are fetched inside record(), before the forward pass that uses them
            if full_idx:
                assert row_id.size == out.shape[0]
                self._kvstore.pull(index, out=out, priority=-index, ignore_sparse=False)
            else:
                self._kvstore.row_sparse_pull(index, out=out, row_ids=row_id, priority=-index)

    # -- steps --------------------------------------------------------------------------------------------------------------
    @property
    def learning_rate(self) -> float:
        """The optimizer's learning rate."""
        return self._optimizer.learning_rate  # type: ignore[no-any-return]

    @property
    def optimizer(self) -> Any:
        """The optimizer."""
        return self._optimizer

    def set_learning_rate(self, lr: float) -> None:
        """Sets the optimizer's learning rate."""
        self._optimizer.set_learning_rate(lr)

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Sums gradients over contexts and updates the parameters. Errors: UserWarning (raised) for gradients that backward did not write."""
        self._optimizer.rescale_grad = self._scale / batch_size
        self._ready()
        self._allreduce_grads()
        self._update(ignore_stale_grad)

    def _on_store(self) -> bool:
        return self._kvstore is not None and bool(self._update_on_kvstore)

    def allreduce_grads(self) -> None:
        """Only the first half of `step`: gradients of all contexts become their sum. Errors: AssertionError when the store updates weights."""
        self._ready()
        assert not self._on_store(), (
            "allreduce_grads() when parameters are updated on kvstore is not supported. Try setting `update_on_kvstore` to False when creating trainer."
        )
        self._allreduce_grads()

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Only the second half of `step`. Errors: AssertionError when the store updates weights."""
        self._ready()
        assert not self._on_store(), (
            "update() when parameters are updated on kvstore is not supported. Try setting `update_on_kvstore` to False when creating trainer."
        )
        self._optimizer.rescale_grad = self._scale / batch_size
        self._update(ignore_stale_grad)

    def _allreduce_grads(self) -> None:
        if self._kvstore is None:
            return
        for i, parameter in enumerate(self._params):
            if parameter.grad_req == "null":
                continue
            gradients = parameter.list_grad()
            if gradients[0].stype == "default":
                target = parameter.list_data() if self._update_on_kvstore else None
                self._kvstore.pushpull(i, gradients, out=target, priority=-i)
                continue
            self._kvstore.push(i, gradients, priority=-i)
            if parameter._stype == "default":
                arrays = parameter.list_data() if self._update_on_kvstore else gradients
                self._kvstore.pull(i, arrays, priority=-i, ignore_sparse=False)

    def _update(self, ignore_stale_grad: bool = False) -> None:
        scaler = getattr(self, "_amp_loss_scaler", None)
        if scaler is not None and scaler.has_overflow(self._params):
            return
        on_store = self._on_store()
        updates: list[list[tuple[int, Any, Any]]] = [[] for _ in self._updaters]
        for i, parameter in enumerate(self._params):
            if parameter.grad_req == "null":
                continue
            if not ignore_stale_grad:
                for array in parameter._check_and_get(parameter._data, list):
                    if not array._fresh_grad:
                        raise UserWarning(_STALE.format(parameter.name, array.context))
            if on_store:
                continue
            for pending, array, gradient in zip(updates, parameter.list_data(), parameter.list_grad(), strict=False):
                if not ignore_stale_grad or array._fresh_grad:
                    pending.append((i, gradient, array))
                    array._fresh_grad = False
        for updater, pending in zip(self._updaters, updates, strict=True):
            if pending:
                indices, gradients, arrays = zip(*pending, strict=True)
                updater(indices, gradients, arrays)

    # -- states -------------------------------------------------------------------------------------------------------------
    def save_states(self, fname: str) -> None:
        """Writes the optimizer and its states to a file, as MXNet does."""
        self._ready()
        if self._update_on_kvstore:
            assert not self._params_to_init, "Cannot save trainer states when some parameters are not yet initialized in kvstore."
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
            return
        with open(fname, "wb") as file:
            file.write(self._updaters[0].get_states(dump_optimizer=True))

    def load_states(self, fname: str) -> None:
        """Reads what `save_states` wrote, here or in MXNet."""
        self._ready()
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            self._optimizer = self._kvstore._updater.optimizer
        else:
            with open(fname, "rb") as file:
                states = file.read()
            for updater in self._updaters:
                updater.set_states(states)
                updater.optimizer = self._updaters[0].optimizer
            self._optimizer = self._updaters[0].optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))
