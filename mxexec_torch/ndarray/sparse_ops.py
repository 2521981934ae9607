"""What operators do when they are given sparse arrays.

`run_sparse` takes over from ndarray.invoke. Where a kernel (sparse_kernels) knows how, only stored elements are touched, and where a rule of
sparse_recorded knows its gradient, that is so while recording too; else the inputs are made dense, the operator runs as usual and its outputs
take the storage type that infer.storage gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..errors import MXNetError
from ..infer.storage import output_stypes
from . import invoke
from .core import NDArray
from .plans import results_of, store
from .sparse import BaseSparseNDArray, RowSparseNDArray, to_storage
from .sparse_history import dense_history
from .sparse_kernels import HANDLERS, lookup, places, spread
from .sparse_recorded import run_sparsely_recorded
from .tape import state

__all__ = ["run_sparse"]


def run_sparse(plan: Any, inputs: Sequence[NDArray], out: Any = None) -> Any:
    """Runs a plan whose inputs are partly sparse, or whose result is. Errors: MXNetError where MXNet has no such combination."""
    wanted = output_stypes(plan.op, plan.attrs, [x.stype for x in inputs])
    records = invoke.connected(inputs) if state.recording else None
    handler = HANDLERS.get(plan.op.name)
    if records is None:
        if plan.op.name in _ROW_UPDATES:
            updated = _update_rows(plan, inputs, out)
            if updated is not None:
                return updated
        result = None if handler is None else handler(plan, inputs)
        if result is not None:
            arrays = result if isinstance(result, list) else [result]
            return _deliver(plan, [to_storage(array, stype) for array, stype in zip(arrays, wanted, strict=True)], out)
    else:
        recorded = run_sparsely_recorded(plan, inputs, records)
        if recorded is not None:
            return _deliver(plan, [_convert(recorded, wanted[0])], out)
    dense = [_dense_view(x) for x in inputs]
    if plan.op.name == "dot" and inputs[0].stype == "csr":
        dense[0]._ag = dense[0]._rec = None  # MXNet computes no gradient for a csr matrix here
    versions = [x._t._version for x in dense]
    results = invoke.run(plan, dense, dense=True)
    for given, used, version in zip(inputs, dense, versions, strict=True):
        if given is not used and used._t._version != version:  # a state that the operator has written
            given._store(used._t)  # type: ignore[attr-defined]
    arrays = results if isinstance(results, list) else [results]
    exact = None if records is None or handler is None else handler(plan, inputs)
    if exact is not None:  # the values, which may differ from the dense ones (`_scatter_plus_scalar`), with the dense operator's history
        pairs = zip(exact if isinstance(exact, list) else [exact], arrays, strict=True)
        arrays = [result if array.stype == "default" else _with_history(array, result) for array, result in pairs]
    return _deliver(plan, [_convert(array, stype) for array, stype in zip(arrays, wanted, strict=False)], out)


def _with_history(array: NDArray, source: NDArray) -> NDArray:
    array._ag, array._rec = source._ag, source._rec
    return array


def _dense_view(array: NDArray) -> NDArray:
    return dense_history(array, array._t) if isinstance(array, BaseSparseNDArray) else array


def _convert(array: NDArray, stype: str) -> NDArray:
    return _with_history(to_storage(array, stype), array)


def _deliver(plan: Any, arrays: Sequence[NDArray], out: Any) -> Any:
    if out is None:
        return arrays[0] if len(arrays) == 1 else list(arrays)
    targets = [out] if isinstance(out, NDArray) else list(out)
    if len(targets) > len(arrays):
        raise MXNetError(f"Operator {plan.op.name} has {len(arrays)} outputs, but out holds {len(targets)} arrays")
    for index, (target, array) in enumerate(zip(targets, arrays, strict=False)):
        if isinstance(target, BaseSparseNDArray):
            target._store(array)
        else:
            store(target, array._t, plan.op.name, index)
        target._ag, target._rec = array._ag, array._rec
    return out


# -------------------------------------------------------------------------------------------------------- optimizer updates
_ROW_UPDATES = ("sgd_update", "sgd_mom_update", "adam_update", "ftrl_update", "_sparse_adagrad_update", "_contrib_group_adagrad_update")


class _Rows:
    """Some rows of an array, to be read and written."""

    def __init__(self, array: Any, rows: torch.Tensor) -> None:
        self._array, self._rows = array, rows
        self._place: torch.Tensor | None = None  # where the rows are stored, if all of them are
        if isinstance(array, RowSparseNDArray):
            place, missing = places(array, rows) if array._indices.numel() else (rows, rows)
            self._place = place if missing is None else None

    def get(self) -> torch.Tensor:
        """The rows' content."""
        if not isinstance(self._array, RowSparseNDArray):
            return self._array._t[self._rows]  # type: ignore[no-any-return]
        return lookup(self._array, self._rows) if self._place is None else self._array._values[self._place]

    def put(self, values: torch.Tensor) -> None:
        """Replaces the rows' content, storing those that were not stored."""
        array, rows = self._array, self._rows
        if not isinstance(array, RowSparseNDArray):
            array._t.index_copy_(0, rows, values)
        elif self._place is not None:
            array._values.index_copy_(0, self._place, values)
        else:
            everything = torch.cat([array._indices, rows]).unique()
            array._values = spread(everything, array._indices, array._values).index_copy_(0, torch.searchsorted(everything, rows), values)
            array._indices = everything


def _update_rows(plan: Any, inputs: Sequence[Any], out: Any) -> Any:
    """A lazy update: only the rows that a row_sparse gradient holds change, in the weight and in every state."""
    weight, grad, *_ = inputs
    if not isinstance(grad, RowSparseNDArray) or not plan.attrs.get("lazy_update", True):
        return None
    if grad.dtype is not weight.dtype:
        raise MXNetError(f"{plan.op.name}: the gradient is {np.dtype(grad.dtype).name}, the weight {np.dtype(weight.dtype).name}")
    rows = grad._indices
    target = out[0] if isinstance(out, (list, tuple)) else out
    if target is None:
        target = weight.copyto(weight._ctx)
    elif target is not weight:
        weight.copyto(target)
    if rows.numel():
        parts = [None if x is grad else _Rows(x, rows) for x in inputs]
        outputs, extra = results_of(plan.apply([grad._values if part is None else part.get() for part in parts], weight._ctx.device))
        for name, values in ({} if extra is None else extra.writes).items():
            part = parts[plan.names.index(name)]
            assert part is not None
            part.put(values.detach())
        (parts[0] if target is weight and parts[0] is not None else _Rows(target, rows)).put(outputs[0].detach())
    return target if out is None else out


invoke.sparse_handler = run_sparse
