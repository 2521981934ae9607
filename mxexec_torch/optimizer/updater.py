"""Updaters: an optimizer with the states of all parameters, as key-value stores and modules call it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base import py_str
from ..ndarray.core import NDArray
from ..util import is_np_array
from .adaptive import Adam
from .base import Optimizer
from .sgd import SGD
from .states import dump_states, load_states

__all__ = ["Updater", "get_updater"]


class Updater:
    """`updater(index, grad, weight)` updates one parameter, or several given as lists. States are made when first needed."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, bool] = {}
        self.aggregate_updates = optimizer.aggregate_num > 0

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        if not isinstance(index, (list, tuple)):
            index, grad, weight = [index], [grad], [weight]
        indices = [py_str(i) for i in index] if bytes in map(type, index) else index
        grads, weights = self._classic(grad), self._classic(weight)
        if weights:
            self.optimizer._set_current_context(weights[0].context.device_id)
        if not all(map(self.states_synced.get, indices)):
            self._prepare_states(indices, weights)
        if self.aggregate_updates:
            self._in_groups(indices, weights, grads)
        elif not self._all_at_once(indices, weights, grads):
            for i, w, g in zip(indices, weights, grads, strict=True):
                self.optimizer.update_multi_precision(i, w, g, self.states[i])

    def _prepare_states(self, indices: Sequence[Any], weights: Sequence[Any]) -> None:
        """States that are missing, and loaded ones on their weight's context."""
        for i, w in zip(indices, weights, strict=True):
            if i not in self.states:
                self.states[i] = self.optimizer.create_state_multi_precision(i, w)
                self.states_synced[i] = True
            elif not self.states_synced[i]:
                self.states[i] = self.sync_state_context(self.states[i], w.context)
                self.states_synced[i] = True

    def _classic(self, arrays: Any) -> Any:
        """mx.np arrays as legacy ones. Errors: ValueError where the optimizer was made without np semantics."""
        if set(map(type, arrays)) == {NDArray} or not any(hasattr(a, "_adopt") for a in arrays):
            return arrays
        if not getattr(self.optimizer, "allow_np_array", is_np_array()):
            raise ValueError("Converting np.ndarray to mx.nd.NDArray is not allowed")
        return [a.as_nd_ndarray() for a in arrays]

    def _in_groups(self, indices: Sequence[Any], weights: Any, grads: Any) -> None:
        """Weights of one type together, aggregate_num at a time (SGD takes any number)."""
        optimizer = self.optimizer
        types = [w.dtype for w in weights]
        if len(set(types)) == 1 and type(optimizer) is SGD:
            optimizer.update_multi_precision(indices, weights, grads, [self.states[i] for i in indices])
            return
        by_type: dict[Any, list[tuple[Any, Any, Any]]] = {}
        for kind, *member in zip(types, indices, weights, grads, strict=True):
            by_type.setdefault(kind, []).append(tuple(member))
        for members in by_type.values():
            step = len(members) if type(optimizer) is SGD else optimizer.aggregate_num
            for begin in range(0, len(members), step):
                some, some_weights, some_grads = zip(*members[begin : begin + step], strict=True)
                optimizer.update_multi_precision(some, some_weights, some_grads, [self.states[i] for i in some])

    def _all_at_once(self, indices: Sequence[Any], weights: Any, grads: Any) -> bool:
        """Adam's dense parameters in one pass, with the same numbers."""
        optimizer = self.optimizer
        if type(optimizer) is not Adam or len(indices) == 0:
            return False
        return optimizer.update_all(indices, weights, grads, [self.states[i] for i in indices])

    def sync_state_context(self, state: Any, context: Any) -> Any:
        """A state on a context: loaded states are where their file had them."""
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(s, context) for s in state)
        return state

    def set_states(self, states: bytes) -> None:
        """Takes states, and the optimizer if it is among them, from `get_states` here or in MXNet. Errors: pickle.UnpicklingError."""
        loaded = load_states(states)
        if isinstance(loaded, tuple) and len(loaded) == 2:
            self.states, self.optimizer = loaded
        else:
            self.states = loaded
        self.states_synced = dict.fromkeys(self.states, False)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """The states, with the optimizer itself on request, as bytes that MXNet reads too."""
        return dump_states((self.states, self.optimizer) if dump_optimizer else self.states)


def get_updater(optimizer: Optimizer) -> Updater:
    """An updater of that optimizer."""
    return Updater(optimizer)
