"""SymbolBlock: a symbol, with its variables as parameters, as a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import symbol
from ..errors import MXNetError
from ..ndarray.core import NDArray
from ..ndarray.ndarray import _STORAGE_TYPE_STR_TO_ID
from ..symbol import Symbol
from ._structure import flatten as _flatten
from ._structure import regroup as _regroup
from .block import HybridBlock
from .parameter import ParameterDict

__all__ = ["SymbolBlock"]


def _common_prefix(names: list[str]) -> str:
    """The longest beginning that all names have."""
    if not names:
        return ""
    first, last = min(names), max(names)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]


class SymbolBlock(HybridBlock):
    """A block made of a symbol: `SymbolBlock(outputs, inputs, params)`; variables that are no inputs become parameters.

    Errors: AssertionError for inputs that are no variables and for row_sparse variables.
    """

    def __init__(self, outputs: Any, inputs: Any, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=None, params=None)
        self._prefix = ""
        self._params = ParameterDict("", params)
        if isinstance(inputs, Symbol) and len(inputs._entries) == 1:
            inputs = [inputs]
        if isinstance(outputs, (list, tuple)) and len(outputs) == 1:
            outputs = outputs[0]
        variables, self._in_format = _flatten(inputs, "input")
        heads, self._out_format = _flatten(outputs, "output")
        for variable in variables:
            assert len(variable.get_internals()._entries) == 1, f"Input symbols must be variable, but {variable} is an output of operators"
        row_sparse = str(_STORAGE_TYPE_STR_TO_ID["row_sparse"])
        for head in heads:
            for node in head.get_internals():
                assert node.attr("__storage_type__") != row_sparse, (
                    f"SymbolBlock doesn't support Parameter '{node.name}' because its storage type is 'row_sparse'."
                )
        out = symbol.Group(heads) if len(heads) > 1 else heads[0]
        given = {variable.name for variable in variables}
        arguments, states = out.list_arguments(), out.list_auxiliary_states()
        argument_types, state_types = _infer_param_types(variables, out, arguments, states)
        for name, dtype in zip(arguments, argument_types, strict=True):
            if name not in given:
                self.params.get(name, allow_deferred_init=True, dtype=dtype)
        for name, dtype in zip(states, state_types, strict=True):
            if name not in given:
                self.params.get(name, grad_req="null", allow_deferred_init=True, dtype=dtype)
        self._cached_graph = variables, out
        cut = len(_common_prefix(list(self._params.keys())))
        self._reg_params = {name[cut:]: parameter for name, parameter in self._params.items()}

    @staticmethod
    def imports(
        symbol_file: str, input_names: Any, param_file: str | None = None, ctx: Any = None, allow_missing: bool = False, ignore_extra: bool = False
    ) -> SymbolBlock:
        """A block from files of `HybridBlock.export` or of a Module's checkpoint. input_names: the variables that are inputs."""
        names = [input_names] if isinstance(input_names, str) else input_names
        # without values, float32 inputs decide the types of the parameters; otherwise the file does
        variables = [symbol.var(name, dtype=np.float32) if param_file is None else symbol.var(name) for name in names]
        block = SymbolBlock(symbol.load(symbol_file), variables)
        if param_file is not None:
            block.collect_params().load(param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved")
        return block

    def __repr__(self) -> str:
        inputs, out = self._cached_graph
        return f"{type(self).__name__}(\n{out} : {len(inputs)} -> {len(out._entries)}\n)"

    def forward(self, x: Any, *args: Any) -> Any:
        """Runs the graph on arrays, or puts symbols in the place of its inputs."""
        if isinstance(x, NDArray):
            with x.ctx:
                return self._call_cached_op(x, *args)
        assert isinstance(x, Symbol), f"HybridBlock requires the first argument to forward be either Symbol or NDArray, but got {type(x)}"
        flat, fmt = _flatten([x, *args], "input")
        assert fmt == self._in_format, "Invalid input format"
        inputs, out = self._cached_graph
        composed = out.__copy__()
        composed._compose(**{variable.name: value for variable, value in zip(inputs, flat, strict=True)})
        return _regroup(list(composed), self._out_format)

    def _clear_cached_op(self) -> None:
        graph = self._cached_graph
        super()._clear_cached_op()
        self._cached_graph = graph

    def cast(self, dtype: Any) -> None:
        """Changes the element type of all parameters; those of BatchNorm stay float32 under float16."""
        super().cast(dtype)
        if np.dtype(dtype).name != "float16":
            return
        names = self._cached_graph[1].list_inputs()
        for ending in ("running_var", "moving_var"):
            for name in names:
                base = name.removesuffix(ending)
                family = [name, *(base + part for part in (ending.replace("var", "mean"), "gamma", "beta"))]
                if base != name and all(member in names for member in family):
                    for member in family:
                        self.params.get(member).cast("float32")

    def reset_ctx(self, ctx: Any) -> None:
        """Moves all parameters to contexts."""
        self.collect_params().reset_ctx(ctx)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Not used: forward runs the given graph."""
        raise NotImplementedError


def _infer_param_types(
    in_params: list[Any], out_params: Any, arg_params: list[str], aux_params: list[str], default_dtype: Any = np.float32
) -> tuple[list[Any], list[Any]]:
    """(types of arguments, of auxiliary states) that the input variables' declared types imply; the default type where they say nothing."""
    known: dict[str, Any] = {}
    for variable in in_params:
        found = variable.infer_type()[0]
        if not found or found[0] is None:
            known = {}
            break
        known[variable.name] = found[0]
    arguments: Any = None
    states: Any = None
    if known:
        try:
            arguments, _, states = out_params.infer_type(**known)
        except MXNetError:
            arguments = states = None
    if arguments is None or len(arguments) != len(arg_params):
        arguments = [default_dtype] * len(arg_params)
    if states is None or len(states) != len(aux_params):
        states = [default_dtype] * len(aux_params)
    return arguments, states
