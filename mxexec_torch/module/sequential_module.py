"""SequentialModule: modules one after the other, each fed with the outputs of the one before."""

from __future__ import annotations

import copy
import logging
from typing import Any

from ..initializer import Uniform
from .base_module import BaseModule

__all__ = ["SequentialModule"]


class SequentialModule(BaseModule):
    """`add(module, take_labels=..., auto_wiring=...)`: take_labels gives a module the labels, auto_wiring renames its inputs to fit."""

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Any = logging) -> None:
        super().__init__(logger=logger)
        self._modules: list[Any] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None
        self._data_shapes: Any = None

    def add(self, module: Any, **kwargs: Any) -> SequentialModule:
        """Appends a module; returns self. The whole must be bound anew."""
        for key in kwargs:
            assert key in (self.META_TAKE_LABELS, self.META_AUTO_WIRING), f'Unknown meta "{key}", a typo?'
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    @property
    def data_names(self) -> Any:
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> Any:
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> Any:
        assert self.binded, "call bind first"
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> Any:
        assert self.binded, "call bind first"
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        assert self.binded, "call bind first"
        return self._modules[-1].output_shapes

    def get_params(self) -> tuple[Any, Any]:
        self._need()
        arguments: dict[str, Any] = {}
        auxiliary: dict[str, Any] = {}
        for module in self._modules:
            own, states = module.get_params()
            arguments.update(own)
            auxiliary.update(states)
        return arguments, auxiliary

    def init_params(
        self, initializer: Any = Uniform(0.01), arg_params: Any = None, aux_params: Any = None, allow_missing: bool = False,  # noqa: B008
        force_init: bool = False, allow_extra: bool = False,
    ) -> None:  # fmt: skip
        """Errors: AssertionError when two modules have parameters of one name."""
        if self.params_initialized and not force_init:
            return
        assert self.binded, "call bind before initializing the parameters"
        for module in self._modules:
            module.init_params(
                initializer=initializer, arg_params=arg_params, aux_params=aux_params, allow_missing=allow_missing, force_init=force_init,
                allow_extra=allow_extra,
            )  # fmt: skip
        for which in (0, 1):
            owners: dict[str, int] = {}
            for position, module in enumerate(self._modules):
                for name in module.get_params()[which]:
                    first = owners.setdefault(name, position)
                    text = f'Duplicated parameter names: "{name}" in layer {position} ({type(module)}) is already used in layer {first}'
                    assert first == position, text
        self.params_initialized = True

    def bind(
        self, data_shapes: Any, label_shapes: Any = None, for_training: bool = True, inputs_need_grad: bool = False, force_rebind: bool = False,
        shared_module: Any = None, grad_req: Any = "write",
    ) -> None:  # fmt: skip
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert for_training or not inputs_need_grad, "inputs_need_grad needs for_training"
        assert shared_module is None, "Shared module is not supported"
        assert self._modules, "Attempting to bind an empty SequentialModule"
        self.binded = True
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        shapes = data_shapes
        for position, (module, meta) in enumerate(zip(self._modules, self._metas, strict=True)):
            if meta.get(self.META_AUTO_WIRING, False):
                names = module.data_names
                assert len(names) == len(shapes), f"layer {position} has inputs {names}, the layer before gives {len(shapes)}"
                shapes = [(name, entry[1]) for name, entry in zip(names, shapes, strict=True)]
            module.bind(
                data_shapes=shapes, label_shapes=label_shapes if meta.get(self.META_TAKE_LABELS) else None, for_training=for_training,
                inputs_need_grad=bool(inputs_need_grad or (for_training and position > 0)), force_rebind=force_rebind, shared_module=None,
                grad_req=grad_req,
            )  # fmt: skip
            shapes = module.output_shapes
        self._label_shapes = label_shapes if any(meta.get(self.META_TAKE_LABELS) for meta in self._metas) else None

    def init_optimizer(
        self, kvstore: Any = "local", optimizer: Any = "sgd", optimizer_params: Any = (("learning_rate", 0.01),), force_init: bool = False
    ) -> None:
        self._need()
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        for module in self._modules:
            module.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params, force_init=force_init)
        self.optimizer_initialized = True

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self._need()
        batch = copy.copy(data_batch)
        for position, module in enumerate(self._modules):
            if position > 0:
                before = self._modules[position - 1]
                batch.data = before.get_outputs()
                if hasattr(batch, "provide_data"):
                    names = [entry[0] for entry in before.output_shapes]
                    batch.provide_data = [(name, array.shape) for name, array in zip(names, batch.data, strict=True)]
            module.forward(batch, is_train=is_train)

    def backward(self, out_grads: Any = None) -> None:
        self._need()
        for position in reversed(range(len(self._modules))):
            self._modules[position].backward(out_grads=out_grads)
            if position > 0:
                out_grads = self._modules[position].get_input_grads()

    def update(self) -> None:
        self._need(optimizer=True)
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        self._need()
        return self._modules[-1].get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        self._need(input_grads=True)
        return self._modules[0].get_input_grads(merge_multi_context=merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._need()
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_TAKE_LABELS):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        assert self.binded, "call bind first"
        for module in self._modules:
            module.install_monitor(mon)
