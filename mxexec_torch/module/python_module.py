"""Modules written in Python: PythonModule has no parameters, PythonLossModule is a loss with a gradient function."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from ..initializer import Uniform
from ..ndarray.core import NDArray
from ..ndarray.utils import array
from .base_module import BaseModule

__all__ = ["PythonLossModule", "PythonModule"]


class PythonModule(BaseModule):
    """Base class for modules without parameters. Subclasses define forward, backward, get_outputs, get_input_grads, _compute_output_shapes."""

    def __init__(self, data_names: Sequence[str], label_names: Sequence[str] | None, output_names: Sequence[str], logger: Any = logging) -> None:
        super().__init__(logger=logger)
        self._data_names = list(data_names) if isinstance(data_names, tuple) else data_names
        self._label_names = list(label_names) if isinstance(label_names, tuple) else label_names
        self._output_names = output_names
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    @property
    def data_names(self) -> Any:
        return self._data_names

    @property
    def output_names(self) -> Any:
        return self._output_names

    @property
    def data_shapes(self) -> Any:
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        return self._output_shapes

    def get_params(self) -> tuple[Any, Any]:
        return {}, {}

    def init_params(
        self, initializer: Any = Uniform(0.01), arg_params: Any = None, aux_params: Any = None, allow_missing: bool = False,  # noqa: B008
        force_init: bool = False, allow_extra: bool = False,
    ) -> None:  # fmt: skip
        """Nothing to do: there are no parameters."""

    def init_optimizer(
        self, kvstore: Any = "local", optimizer: Any = "sgd", optimizer_params: Any = (("learning_rate", 0.01),), force_init: bool = False
    ) -> None:
        """Nothing to do: there are no parameters."""

    def update(self) -> None:
        """Nothing to do: there are no parameters."""

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise RuntimeError("PythonModule does not support presliced labels")
        eval_metric.update(labels, self.get_outputs())

    def bind(
        self, data_shapes: Any, label_shapes: Any = None, for_training: bool = True, inputs_need_grad: bool = False, force_rebind: bool = False,
        shared_module: Any = None, grad_req: Any = "write",
    ) -> None:  # fmt: skip
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert grad_req == "write", "Python module only support write gradient"
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        for shapes, names in ((data_shapes, self._data_names), (label_shapes, self._label_names)):
            given = None if shapes is None else [entry[0] for entry in shapes]
            assert given is None or given == names, f"the shapes are for {given}, the module's names are {names}"
        self._data_shapes = data_shapes
        self._label_shapes = label_shapes
        self._output_shapes = self._compute_output_shapes()

    def _compute_output_shapes(self) -> Any:
        """(name, shape) of the outputs, from the data's shapes."""
        raise NotImplementedError(f"{type(self).__name__} defines no _compute_output_shapes")


class PythonLossModule(PythonModule):
    """Passes scores through; the gradient is grad_func(scores, labels), or what a subclass's `_backward_impl` sets."""

    def __init__(
        self, name: str = "pyloss", data_names: Sequence[str] = ("data",), label_names: Sequence[str] = ("softmax_label",), logger: Any = logging,
        grad_func: Callable[[Any, Any], Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(data_names, label_names, [f"{name}_output"], logger=logger)
        assert len(data_names) == 1, "a loss has one input"
        assert len(label_names) == 1, "a loss has one label"
        assert grad_func is None or callable(grad_func), "grad_func must be callable"
        self._name = name
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None
        self._grad_func = grad_func

    def _compute_output_shapes(self) -> Any:
        return [(f"{self._name}_output", self._data_shapes[0][1])]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        assert merge_multi_context is True, "there is one context"
        return [self._scores]

    def backward(self, out_grads: Any = None) -> None:
        assert out_grads is None, "For a loss module, out_grads should be None"
        assert self.for_training, "re-bind with for_training=True to run backward"
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            raise NotImplementedError("give grad_func, or define _backward_impl")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else array(grad)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        assert merge_multi_context is True, "there is one context"
        return [self._scores_grad]

    def install_monitor(self, mon: Any) -> None:
        """Errors: NotImplementedError, there is nothing to watch."""
        raise NotImplementedError("a Python loss has no executor to watch")
