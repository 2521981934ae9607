"""One executor for each context: batches split over them, outputs and parameters collected."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..context import Context, cpu
from ..dtypes import CODE_TO_NAME
from ..executor_manager import _split_input_slice
from ..io import DataDesc
from ..ndarray import concat
from ..ndarray.core import NDArray

__all__ = ["DataParallelExecutorGroup"]


def _part(array: Any, axis: int, part: slice) -> Any:
    """Some samples of an array: the array itself when they are all of it or when it has no batch axis."""
    if axis < 0 or (part.start == 0 and part.stop == array.shape[axis]):
        return array
    return array[part.start : part.stop] if axis == 0 else array.slice_axis(axis=axis, begin=part.start, end=part.stop)


def _load(sources: Sequence[Any], targets: Sequence[Any], axes: Sequence[int]) -> None:
    """Copies each source into its targets, one (samples, array) for each executor. A source may be a list with one array for each."""
    for source, places, axis in zip(sources, targets, axes, strict=False):
        if isinstance(source, (list, tuple)):
            for one, (_, target) in zip(source, places, strict=False):
                one.copyto(target)
            continue
        for part, target in places:
            _part(source, axis, part).copyto(target)


def _fields(batch: Any, field: str, count: int) -> list[Any]:
    """The data or labels of a batch; of a list of batches (one for each context) lists over contexts."""
    if isinstance(batch, list):
        return [[getattr(one, field)[i] for one in batch] for i in range(count)]
    return getattr(batch, field)  # type: ignore[no-any-return]


def _merged(outputs: Sequence[Sequence[Any]], axes: Sequence[int]) -> list[Any]:
    """Outputs of all executors joined along the batch axis; those without one are taken from the first executor."""
    return [
        arrays[0] if axis < 0 or len(arrays) == 1 else concat(*[a.as_in_context(arrays[0].context) for a in arrays], dim=axis)
        for arrays, axis in zip(outputs, axes, strict=False)
    ]


def _prepare_group2ctxs(group2ctxs: Any, count: int) -> list[Any]:
    """For each executor a dict from context groups to contexts; contexts given once serve all executors."""
    if group2ctxs is None:
        return [None] * count
    if isinstance(group2ctxs, list):
        assert len(group2ctxs) == count, f"length of group2ctxs should be {count}"
        return group2ctxs
    assert isinstance(group2ctxs, dict), "group2ctxs should be a list of dicts, or a dict, from str to context (or list of contexts)"
    result: list[dict[str, Context]] = [{} for _ in range(count)]
    for group, given in group2ctxs.items():
        contexts = [given] if isinstance(given, Context) else list(given)
        if len(contexts) == 1:
            contexts = contexts * count
        assert len(contexts) == count, f"length of group2ctxs[{group}] should be {count} or 1"
        for mapping, context in zip(result, contexts, strict=True):
            mapping[group] = context
    return result


class DataParallelExecutorGroup:
    """Executors of a symbol on several contexts, each with its share of the batch (workload).

    param_arrays, grad_arrays, aux_arrays: for each name the list over contexts. execs: the executors.
    """

    def __init__(
        self, symbol: Any, contexts: Sequence[Context], workload: Sequence[float], data_shapes: Any, label_shapes: Any, param_names: Sequence[str],
        for_training: bool, inputs_need_grad: bool, shared_group: DataParallelExecutorGroup | None = None, logger: Any = logging,
        fixed_param_names: Sequence[str] | None = None, grad_req: Any = "write", state_names: Sequence[str] | None = None, group2ctxs: Any = None,
    ) -> None:  # fmt: skip
        self.symbol, self.contexts, self.workload = symbol, contexts, workload
        self.arg_names, self.aux_names, self.param_names = symbol.list_arguments(), symbol.list_auxiliary_states(), param_names
        self.group2ctxs = _prepare_group2ctxs(group2ctxs, len(contexts))
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.logger = logger
        self._total_exec_bytes = 0
        self.fixed_param_names = fixed_param_names or []
        self.state_names = state_names or []
        data_shapes = _described(data_shapes)
        label_shapes = None if label_shapes is None else _described(label_shapes)
        self.grad_req = self._requests(grad_req if for_training else "null", [d.name for d in data_shapes])
        self.shared_data_arrays: list[Any] = [{} for _ in contexts] if shared_group is None else shared_group.shared_data_arrays
        self.batch_size: int | None = None
        self.slices: Any = None
        self.execs: list[Any] = []
        self._default_execs: list[Any] | None = None
        self.label_arrays: Any = None
        self.grad_arrays: Any = None
        self.input_grad_arrays: Any = None
        self.label_names: Any = None
        self.label_layouts: Any = None
        self.output_names = symbol.list_outputs()
        self.num_outputs = len(self.output_names)
        self.output_layouts = [DataDesc.get_batch_axis(symbol[i].attr("__layout__")) for i in range(self.num_outputs)]
        self.bind_exec(data_shapes, label_shapes, shared_group)

    def _requests(self, grad_req: Any, data_names: Sequence[str]) -> dict[str, str]:
        """The gradient request of each argument. Errors: ValueError for what is no str, list, tuple or dict."""
        if isinstance(grad_req, (list, tuple)):
            assert len(grad_req) == len(self.arg_names), f"{len(grad_req)} requests for {len(self.arg_names)} arguments"
            return dict(zip(self.arg_names, grad_req, strict=True))
        if not isinstance(grad_req, (str, dict)):
            raise ValueError("grad_req must be one of str, list, tuple, or dict.")
        wanted = grad_req if isinstance(grad_req, str) else "write"
        requests = {}
        for name in self.arg_names:
            trained = name in self.param_names and name not in self.fixed_param_names
            asked = name in data_names and name not in self.param_names and self.inputs_need_grad
            requests[name] = wanted if trained or asked else "null"
        if isinstance(grad_req, dict):
            requests.update(grad_req)
        return requests

    # -- binding ----------------------------------------------------------------------------------------------------------------
    def decide_slices(self, data_shapes: Sequence[Any]) -> list[int]:
        """The batch axis of each input; sets the batch size and its slices. Errors: AssertionError for different batch sizes."""
        assert len(data_shapes) > 0, "there are no data shapes"
        axes = [DataDesc.get_batch_axis(d.layout) for d in data_shapes]
        for (name, shape), axis in zip(data_shapes, axes, strict=True):
            if axis == -1:
                continue
            size = shape[axis]
            if self.batch_size is None:
                self.batch_size = size
                self.slices = _split_input_slice(size, self.workload)
            text = f"all data must have the same batch size: batch_size = {self.batch_size}, but {name} has shape {shape}"
            assert size == self.batch_size, text
        return axes

    def bind_exec(self, data_shapes: Any, label_shapes: Any, shared_group: Any = None, reshape: bool = False) -> None:
        """Binds all executors, or reshapes them from the first ones bound."""
        assert reshape or not self.execs, "the executors are bound already"
        self.batch_size = None
        self.data_layouts = self.decide_slices(data_shapes)
        if label_shapes is not None:
            self.label_layouts = self.decide_slices(label_shapes) if label_shapes else []
        for i in range(len(self.contexts)):
            inputs = self._sliced_shape(data_shapes, i, self.data_layouts)
            if label_shapes is not None:
                inputs = [*inputs, *self._sliced_shape(label_shapes, i, self.label_layouts)]
            if reshape:
                assert self._default_execs is not None
                self.execs[i] = self._default_execs[i].reshape(allow_up_sizing=True, **dict(inputs))
            else:
                self.execs.append(self._bind_one(i, inputs, len(data_shapes), shared_group))
        self.data_shapes = data_shapes
        self.label_shapes = label_shapes
        self.data_names = [d.name for d in data_shapes]
        if label_shapes is not None:
            self.label_names = [d.name for d in label_shapes]
        self._collect_arrays()

    def _bind_one(self, i: int, inputs: Sequence[DataDesc], data_count: int, shared_group: Any) -> Any:
        types = {d.name: d.dtype for d in inputs[:data_count]}
        attributes = self.symbol.attr_dict()
        for name in self.symbol.list_inputs():
            declared = attributes.get(name, {}).get("__dtype__", "-1")
            if name in types and declared != "-1":  # the variable's own type wins over the iterator's
                types[name] = CODE_TO_NAME[int(declared)]
        types.update({d.name: d.dtype for d in inputs[data_count:]})
        return self.symbol.simple_bind(
            ctx=self.contexts[i], grad_req=self.grad_req, type_dict=types, shared_arg_names=list(self.param_names),
            shared_exec=None if shared_group is None else shared_group.execs[i], group2ctx=self.group2ctxs[i],
            shared_buffer=self.shared_data_arrays[i], **dict(inputs),
        )  # fmt: skip

    def _sliced_shape(self, shapes: Sequence[DataDesc], i: int, axes: Sequence[int]) -> list[DataDesc]:
        """The descriptions of the inputs of executor i."""
        result = []
        for desc, axis in zip(shapes, axes, strict=True):
            shape = list(desc.shape)
            if axis >= 0:
                shape[axis] = self.slices[i].stop - self.slices[i].start
            result.append(DataDesc(desc.name, tuple(shape), desc.dtype, desc.layout))
        return result

    def _places(self, shapes: Sequence[DataDesc]) -> list[Any]:
        """For each input (samples, array) of each executor."""
        parts = self.slices or [slice(i, i + 1) for i in range(len(self.execs))]
        return [[(part, one.arg_dict[desc.name]) for part, one in zip(parts, self.execs, strict=True)] for desc in shapes]

    def _collect_arrays(self) -> None:
        execs = self.execs
        positions = [i for i, name in enumerate(self.arg_names) if name in self.param_names]
        self.data_arrays = self._places(self.data_shapes)
        self.label_arrays = None if self.label_shapes is None else self._places(self.label_shapes)
        self.state_arrays = [[one.arg_dict[name] for one in execs] for name in self.state_names]
        self.param_arrays = [[one.arg_arrays[i] for one in execs] for i in positions]
        self.grad_arrays = [[one.grad_arrays[i] for one in execs] for i in positions] if self.for_training else None
        self.aux_arrays = [[one.aux_arrays[i] for one in execs] for i in range(len(self.aux_names))]
        if self.inputs_need_grad:
            named = [self.arg_names.index(d[0]) for d in self.data_shapes if d[0] in self.arg_names]
            self.input_grad_arrays = [[one.grad_arrays[i] for one in execs] for i in named]
        else:
            self.input_grad_arrays = None

    def reshape(self, data_shapes: Any, label_shapes: Any) -> None:
        """Executors for other shapes; parameters are shared with those before."""
        if data_shapes == self.data_shapes and label_shapes == self.label_shapes:
            return
        if self._default_execs is None:
            self._default_execs = list(self.execs)
        self.bind_exec(data_shapes, label_shapes, reshape=True)

    # -- parameters -------------------------------------------------------------------------------------------------------------
    def set_params(self, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any], allow_extra: bool = False) -> None:
        """Copies parameters to all executors."""
        for one in self.execs:
            one.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(self, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any]) -> None:
        """Writes the mean over executors into the given arrays."""
        for names, blocks, targets in ((self.param_names, self.param_arrays, arg_params), (self.aux_names, self.aux_arrays, aux_params)):
            for name, block in zip(names, blocks, strict=True):
                mean = block[0] if len(block) == 1 else sum(w.copyto(cpu()) for w in block) / len(block)
                target = targets[name]
                (mean if mean.dtype == target.dtype else mean.astype(target.dtype)).copyto(target)

    # -- running ----------------------------------------------------------------------------------------------------------------
    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Loads a batch (or a list of batches, one for each context) and runs all executors."""
        _load(_fields(data_batch, "data", len(self.data_arrays)), self.data_arrays, self.data_layouts)
        first = data_batch[0] if isinstance(data_batch, list) else data_batch
        if self.label_arrays is not None and first.label:
            _load(_fields(data_batch, "label", len(self.label_arrays)), self.label_arrays, self.label_layouts)
        train = self.for_training if is_train is None else is_train
        for one in self.execs:
            one.forward(is_train=train)

    def backward(self, out_grads: Any = None) -> None:
        """Runs backward on all executors; out_grads are gradients of the whole batch's outputs."""
        assert self.for_training, "re-bind with for_training=True to run backward"
        if out_grads is None:
            for one in self.execs:
                one.backward()
            return
        grads = [out_grads] if isinstance(out_grads, NDArray) else out_grads
        for one, part, context in zip(self.execs, self.slices, self.contexts, strict=True):
            own = []
            for grad, axis in zip(grads, self.output_layouts, strict=False):
                own.append(grad.copyto(context) if axis < 0 else _part(grad, axis, part).as_in_context(context))
            one.backward(out_grads=own)

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of the outputs for the whole batch."""
        result = []
        for name, output, axis in zip(self.output_names, self.execs[0].outputs, self.output_layouts, strict=True):
            shape = list(output.shape)
            if axis >= 0:
                shape[axis] = self.batch_size
            result.append((name, tuple(shape)))
        return result

    def get_outputs(self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None) -> list[Any]:
        """Outputs begin:end, merged or as lists over contexts."""
        chosen = range(begin, self.num_outputs if end is None else end)
        outputs = [[one.outputs[i] for one in self.execs] for i in chosen]
        return _merged(outputs, [self.output_layouts[i] for i in chosen]) if merge_multi_context else outputs

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """Gradients of the data, merged or as lists over contexts."""
        assert self.inputs_need_grad, "bind with inputs_need_grad=True to get gradients of inputs"
        return _merged(self.input_grad_arrays, self.data_layouts) if merge_multi_context else self.input_grad_arrays

    def get_states(self, merge_multi_context: bool = True) -> Any:
        """The state arrays, as lists over contexts."""
        assert not merge_multi_context, "merge_multi_context=True is not supported for get_states yet."
        return self.state_arrays

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the states: from arrays as `get_states` or merged `get_outputs` give them, or all to a number."""
        assert (states is None) != (value is None), "give either states or value"
        for position, targets in enumerate(self.state_arrays):
            source = None if states is None else states[position]
            for target, part in zip(targets, self.slices, strict=True):
                if source is None:
                    target[:] = value
                elif isinstance(source, NDArray):
                    _part(source, 0, part).copyto(target)
            if isinstance(source, (list, tuple)):
                for one, target in zip(source, targets, strict=True):
                    one.copyto(target)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool) -> None:
        """Adds the outputs of all executors to a metric; pre_sliced: labels are lists, one for each executor."""
        for one, own in zip(self.execs, self._labels(labels, pre_sliced), strict=False):
            named = OrderedDict(zip(self.label_names or (), own, strict=False))
            eval_metric.update_dict(named, OrderedDict(zip(self.output_names, one.outputs, strict=True)))

    def _labels(self, labels: Any, pre_sliced: bool) -> Iterator[list[Any]]:
        if pre_sliced:
            yield from labels
            return
        for part in self.slices:
            yield [_part(label, axis, part) for label, axis in zip(labels or (), self.label_layouts or (), strict=False)]

    def install_monitor(self, mon: Any) -> None:
        """Watches all executors."""
        for one in self.execs:
            mon.install(one)


def _described(shapes: Any) -> list[DataDesc]:
    return [d if isinstance(d, DataDesc) else DataDesc(*d) for d in shapes]
