"""The base class of optimizers: learning rates and weight decay of each parameter, update counts, master copies of float16 weights."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..ndarray.core import NDArray
from ..ndarray.invoke import call
from ..ndarray.utils import zeros
from ..util import is_np_array

__all__ = ["Optimizer", "zeros_like"]


def zeros_like(weight: Any, dtype: Any = None, stype: str = "default") -> Any:
    """Zeros of the weight's shape and context; its type unless `dtype` is given."""
    return zeros(weight.shape, weight.context, dtype=weight.dtype if dtype is None else dtype, stype=stype)


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


class Optimizer:
    """Updates weights from gradients: `create_state(index, weight)` once, then `update(index, weight, grad, state)`.

    rescale_grad: factor of every gradient. param_idx2name: names of the parameter indices; weight decay is 0 for those that end in
    neither `_weight` nor `_gamma`. sym: a symbol whose `__lr_mult__` and `__wd_mult__` attributes count. begin_num_update: updates
    already made. multi_precision: float16 weights have a float32 master copy. param_dict: Gluon parameters by index.
    """

    opt_registry: dict[str, type[Optimizer]] = {}

    def __init__(
        self, rescale_grad: float = 1.0, param_idx2name: dict[Any, str] | None = None, wd: float = 0.0, clip_gradient: float | None = None,
        learning_rate: float | None = None, lr_scheduler: Any = None, sym: Any = None, begin_num_update: int = 0,
        multi_precision: bool = False, param_dict: dict[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        assert param_idx2name is None or isinstance(param_idx2name, dict), "param_idx2name should be a dict of param indexes to names."
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        if lr_scheduler is None and learning_rate is None:
            learning_rate = 0.01
        self.lr: Any = learning_rate
        if lr_scheduler is not None and learning_rate is not None and lr_scheduler.base_lr != learning_rate:
            print(UserWarning("learning rate from ``lr_scheduler`` has been overwritten by ``learning_rate`` in optimizer."))
            lr_scheduler.base_lr = learning_rate
        self.wd = wd
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._all_index_update_counts: dict[int, dict[Any, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.idx2name = dict(param_idx2name or {})
        self.sym_info = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.param_dict = param_dict or {}
        self.allow_np_array = is_np_array()
        self.set_lr_mult({})
        self.set_wd_mult({})

    # -- by name ----------------------------------------------------------------------------------------------------------
    @staticmethod
    def register(klass: type[Optimizer]) -> type[Optimizer]:
        """Class decorator: makes an optimizer known by its lower-case class name."""
        assert isinstance(klass, type), f"only classes can be registered, not {klass!r}"
        name = klass.__name__.lower()
        old = Optimizer.opt_registry.get(name)
        if old is not None:
            warnings.warn(
                f"WARNING: New optimizer {klass.__module__}.{klass.__name__} is overriding existing optimizer {old.__module__}.{old.__name__}",
                stacklevel=2,
            )
        Optimizer.opt_registry[name] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """A registered optimizer by name. Errors: ValueError for an unknown one."""
        found = Optimizer.opt_registry.get(name.lower())
        if found is None:
            raise ValueError(f"Cannot find optimizer {name}")
        return found(**kwargs)

    # -- states and updates -----------------------------------------------------------------------------------------------
    def create_state(self, index: Any, weight: Any) -> Any:
        """What the optimizer keeps for a parameter: None, an array or a tuple."""
        return None

    def _wants_master(self, weight: Any) -> bool:
        """Whether the weight gets a float32 copy; warns where float16 accumulates without one."""
        if weight.dtype != np.float16:
            return False
        if not self.multi_precision:
            warnings.warn(
                "Accumulating with float16 in optimizer can lead to poor accuracy or slow convergence. "
                "Consider using multi_precision=True option of the optimizer",
                stacklevel=4,
            )
        return self.multi_precision

    def create_state_multi_precision(self, index: Any, weight: Any) -> Any:
        """`create_state`, or (float32 copy, its state) for float16 weights with multi_precision."""
        if self._wants_master(weight):
            master = weight.astype(np.float32)
            return (master, self.create_state(index, master))
        return self.create_state(index, weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Changes the weight and the state in place."""
        raise NotImplementedError(f"{type(self).__name__} defines no update")

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """`update`, through the float32 copy where there is one."""
        if self.multi_precision and weight.dtype == np.float16:
            master, inner = state
            self.update(index, master, grad.astype(np.float32), inner)
            call("Cast", master, dtype="float16", out=weight)
        else:
            self.update(index, weight, grad, state)

    # -- learning rate and weight decay --------------------------------------------------------------------------------------
    @property
    def learning_rate(self) -> float:
        """The rate now: the scheduler's where there is one."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)  # type: ignore[no-any-return]

    def set_learning_rate(self, lr: float) -> None:
        """Sets the rate. Errors: UserWarning (raised) when a scheduler decides it."""
        if self.lr_scheduler is not None:
            raise UserWarning("the learning rate of this optimizer comes from its LRScheduler and cannot be set")
        self.lr = lr

    def set_lr_scale(self, args_lrscale: Any) -> None:
        """Given up in MXNet in favour of `set_lr_mult`. Errors: DeprecationWarning (raised)."""
        raise DeprecationWarning("use set_lr_mult")

    def _declared(self, attribute: str) -> dict[Any, float]:
        """A multiplier attribute of the symbol's arguments, by name."""
        if not self.sym_info:
            return {}
        attributes, names = self.sym_info
        return {name: float(attributes[name][attribute]) for name in names if attribute in attributes.get(name, ())}

    def set_lr_mult(self, args_lr_mult: Mapping[Any, float]) -> None:
        """Factors of the learning rate, by parameter name or index; those of the symbol's attributes hold for the others."""
        self.lr_mult = {**self._declared("__lr_mult__"), **args_lr_mult}

    _decayed_endings: tuple[str, ...] = ("_weight", "_gamma")

    def set_wd_mult(self, args_wd_mult: Mapping[Any, float]) -> None:
        """Factors of the weight decay; without one, parameters named neither `..._weight` nor `..._gamma` get 0."""
        exempt = {name: 0.0 for name in self.idx2name.values() if not name.endswith(self._decayed_endings)}
        self.wd_mult = {**exempt, **self._declared("__wd_mult__"), **args_wd_mult}

    def _set_current_context(self, device_id: int) -> None:
        """Chooses the update counts of a device: each device counts its own updates."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index: Any) -> None:
        """Counts an update of one parameter or several."""
        counts = self._index_update_count
        for i in _as_list(index):
            count = counts[i] = counts.get(i, self.begin_num_update) + 1
            if count > self.num_update:
                self.num_update = count

    def _multiplied(self, base: float, indices: Sequence[Any], kind: str) -> list[float]:
        """`base` times each parameter's multiplier `kind`: of its Gluon parameter, its index or its name, in this order."""
        table, names, gluon = getattr(self, kind), self.idx2name, self.param_dict
        result = []
        for index in indices:
            if gluon and index in gluon:
                result.append(base * getattr(gluon[index], kind))
            elif index in table:
                result.append(base * table[index])
            elif index in names:
                result.append(base * table.get(names[index], 1.0))
            else:
                result.append(base)
        return result

    def _get_lrs(self, indices: Sequence[Any]) -> list[float]:
        """The learning rates of parameters."""
        return self._multiplied(self.learning_rate, indices, "lr_mult")

    def _get_lr(self, index: Any) -> float:
        return self._get_lrs([index])[0]

    def _get_wds(self, indices: Sequence[Any]) -> list[float]:
        """The weight decays of parameters."""
        return self._multiplied(self.wd, indices, "wd_mult")

    def _get_wd(self, index: Any) -> float:
        return self._get_wds([index])[0]

    # -- for subclasses -------------------------------------------------------------------------------------------------------
    def _begin(self, index: Any, weight: Any, grad: Any) -> tuple[float, float]:
        """Counts the update; its (learning rate, weight decay)."""
        assert isinstance(weight, NDArray), f"weight must be an NDArray, not {type(weight)}"
        assert isinstance(grad, NDArray), f"grad must be an NDArray, not {type(grad)}"
        self._update_count(index)
        return self._get_lr(index), self._get_wd(index)

    def _common(self, **more: Any) -> dict[str, Any]:
        """Attributes that all update operators share, plus those given that are not empty."""
        attrs: dict[str, Any] = {"rescale_grad": self.rescale_grad}
        if self.clip_gradient:
            attrs["clip_gradient"] = self.clip_gradient
        attrs.update({k: v for k, v in more.items() if v})
        return attrs

    def _clip(self, grad: Any) -> Any:
        """The gradient limited to [-clip_gradient, clip_gradient]."""
        if self.clip_gradient is None:
            return grad
        return call("clip", grad, a_min=-self.clip_gradient, a_max=self.clip_gradient)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["param_dict"]  # Gluon's parameters are no part of a checkpoint
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        self.param_dict = {}
