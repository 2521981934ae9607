"""The public functions of mixed precision: switching it on for new code, scaling losses, and converting trained models."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ... import optimizer as opt
from ...context import gpu
from ...dtypes import CODE_TO_NAME, name_of
from ...errors import MXNetError
from ...gluon import trainer
from ...module import BucketingModule
from ...symbol import Symbol
from . import lists
from .loss_scaler import LossScaler
from .rewrite import Policy, reduce_precision, set_input_dtypes
from .wrapping import cast, wrap_arithmetic, wrap_functions, wrap_loss_functions

__all__ = [
    "convert_hybrid_block", "convert_model", "convert_symbol", "init", "init_trainer", "list_conditional_fp32_ops", "list_fp32_ops",
    "list_loss_output_functions", "list_lp16_fp32_ops", "list_lp16_ops", "list_lp16_use_fp32_params", "list_widest_type_cast", "scale_loss", "unscale",
]  # fmt: skip

_amp_initialized = False
_amp_loss_scale_initialized = False
_loss_scaler: LossScaler | None = None


def _low_name(target_dtype: Any) -> str:
    """'float16' or 'bfloat16'. Errors: AssertionError for other types."""
    name = name_of(target_dtype)
    assert name in ("float16", "bfloat16"), f"mixed precision knows the target types float16 and bfloat16, not {name}"
    return name


def _is_fp16(target_dtype: Any) -> bool:
    return _low_name(target_dtype) == "float16"


# -- training -------------------------------------------------------------------------------------------------------------------
def init(target_dtype: Any = "float16", target_precision_ops: Any = None, conditional_fp32_ops: Any = None, fp32_ops: Any = None) -> None:
    """Switches mixed precision on for the rest of the process: operators cast their inputs as the lists say. Call it before making models.

    target_precision_ops, conditional_fp32_ops, fp32_ops: lists instead of the default ones. A second call does nothing.
    Deviations: MXNet casts arrays of float16 on GPUs only and of bfloat16 on CPUs only; here the device does not matter.
    """
    global _amp_initialized, _loss_scaler
    if _amp_initialized:
        return
    low = _low_name(target_dtype)
    logging.info("Using AMP")
    low_ops = list_lp16_ops(low) if target_precision_ops is None else target_precision_ops
    wide_ops = list_fp32_ops(low) if fp32_ops is None else fp32_ops
    conditional = list_conditional_fp32_ops(low) if conditional_fp32_ops is None else conditional_fp32_ops
    wrap_functions(low, low_ops, wide_ops, conditional, list_widest_type_cast(low), list_lp16_use_fp32_params(low) or {})
    wrap_arithmetic(low, wide_ops, list_widest_type_cast(low))
    _loss_scaler = LossScaler()
    wrap_loss_functions(list_loss_output_functions(low), _loss_scaler)
    _amp_initialized = True


def _check_trainer(value: Any) -> None:
    if isinstance(value, opt.Optimizer):
        raise TypeError("AMP is currently only compatible with Gluon Trainer: put the optimizer into one")
    if not isinstance(value, trainer.Trainer):
        raise TypeError(f"optimizer_or_trainer should be a Gluon Trainer or an optimizer, instead is {type(value)}")


def init_trainer(optimizer_or_trainer: Any) -> None:
    """Gives a Gluon Trainer a loss scaler: it skips steps whose gradients overflow. Errors: TypeError for other objects, optimizers included."""
    global _amp_loss_scale_initialized
    assert _amp_initialized, "AMP not initialized, did you forget to call amp.init()?"
    _check_trainer(optimizer_or_trainer)
    # the first trainer shares its scaler with the loss heads of mx.nd
    scaler = LossScaler() if _amp_loss_scale_initialized else _loss_scaler
    _amp_loss_scale_initialized = True
    optimizer_or_trainer._amp_loss_scaler = scaler
    optimizer_or_trainer._amp_original_scale = optimizer_or_trainer._scale


@contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """`with scale_loss(loss, trainer) as scaled: backward(scaled)`: the loss or list of losses times the scale, which the trainer divides by."""
    scaler = getattr(optimizer_or_trainer, "_amp_loss_scaler", None)
    assert scaler is not None, "Loss scaler is not initialized, did you forget to call amp.init_trainer()?"
    optimizer_or_trainer._scale = optimizer_or_trainer._amp_original_scale / scaler.loss_scale
    yield [part * scaler.loss_scale for part in loss] if isinstance(loss, (list, tuple)) else loss * scaler.loss_scale


def unscale(optimizer_or_trainer: Any) -> None:
    """Divides the gradients by the loss scale now, for code that reads them before `step` (clipping). Errors: TypeError as `init_trainer`."""
    _check_trainer(optimizer_or_trainer)
    for parameter in optimizer_or_trainer._params:
        for gradient in parameter._grad or ():
            gradient[:] = gradient * optimizer_or_trainer._scale
    optimizer_or_trainer._scale = 1.0


# -- conversion -----------------------------------------------------------------------------------------------------------------
def convert_symbol(
    sym: Any, target_dtype: Any = "float16", target_dtype_ops: Any = None, fp32_ops: Any = None, conditional_fp32_ops: Any = None,
    excluded_sym_names: Any = None, data_names: Any = None, cast_optional_params: bool = False,
) -> Any:  # fmt: skip
    """A float32 symbol with casts in between, so that the operators of the lists run in the low type; its outputs are float32.

    target_dtype_ops, fp32_ops, conditional_fp32_ops: lists instead of the default ones. excluded_sym_names: nodes that stay float32.
    data_names: inputs that are no parameters (default: those without a type of their own). cast_optional_params: parameters get the low type.
    Errors: AssertionError for arguments of other types, operators in two lists and operators outside of all default lists.
    """
    assert isinstance(sym, Symbol), f"First argument to convert_symbol should be Symbol, not {type(sym)}"
    _check_target(target_dtype)
    low_ops = _listed(target_dtype_ops, list_lp16_ops(target_dtype), "target_dtype_ops")
    wide_ops = _listed(fp32_ops, list_fp32_ops(target_dtype), "fp32_ops")
    conditional = _conditional(_listed(conditional_fp32_ops, list_conditional_fp32_ops(target_dtype), "conditional_fp32_ops"))
    _check_lists(target_dtype, {"target_dtype_ops": set(low_ops), "fp32_ops": set(wide_ops), "conditional_fp32_ops": set(conditional)})
    inputs = sym.list_inputs()
    if data_names is None:
        attributes = sym.attr_dict()
        data_names = [name for name in inputs if "__dtype__" not in attributes.get(name, {})]
    unknown = [name for name in data_names if name not in inputs]
    if unknown:
        raise MXNetError(f"convert_symbol: data name {unknown[0]!r} is not among the inputs {inputs} of the symbol")
    excluded = frozenset(_listed(excluded_sym_names, [], "excluded_sym_names"))
    policy = Policy(
        low=target_dtype, low_ops=frozenset(low_ops), fp32_ops=frozenset(wide_ops), widest_ops=frozenset(list_widest_type_cast(target_dtype)),
        conditional=conditional, excluded=excluded, data_names=frozenset(data_names), cast_params=bool(cast_optional_params),
    )  # fmt: skip
    heads = reduce_precision(sym._entries, policy)
    set_input_dtypes(heads, policy, frozenset(inputs) - frozenset(data_names))
    return Symbol(heads)


def _check_target(target_dtype: Any) -> None:
    known = isinstance(target_dtype, str) and target_dtype in ("float16", "bfloat16")
    assert known, f"Only target_dtype 'float16' and 'bfloat16' are supported, not {target_dtype!r}"


def _listed(given: Any, default: list[Any], what: str) -> list[Any]:
    if given is None:
        return default
    assert isinstance(given, list), f"{what} should be a list, not {type(given)}"
    return given


def _conditional(rows: list[Any]) -> dict[str, dict[str, list[str]]]:
    result: dict[str, dict[str, list[str]]] = {}
    for name, key, values in rows:
        well_formed = isinstance(name, str) and isinstance(key, str) and isinstance(values, list)
        assert well_formed, f"conditional_fp32_ops should be a list of (str, str, list of str), it has {(name, key, values)!r}"
        result.setdefault(name, {}).setdefault(key, []).extend(values)
    return result


def _check_lists(target_dtype: str, chosen: Mapping[str, set[str]]) -> None:
    names = list(chosen)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            common = chosen[first] & chosen[second]
            assert not common, f"an operator belongs to one list: {first} and {second} both have {sorted(common)}"
    known = {*list_lp16_ops(target_dtype), *list_fp32_ops(target_dtype), *list_lp16_fp32_ops(target_dtype)}
    known |= {name for name, _, _ in list_conditional_fp32_ops(target_dtype)}
    illegal = set().union(*chosen.values()) - known
    assert not illegal, (
        f"operators can be chosen from amp.list_lp16_ops, list_fp32_ops, list_lp16_fp32_ops and list_conditional_fp32_ops, which lack {sorted(illegal)}"
    )


def _stored_dtypes(sym: Any) -> dict[str, str]:
    """Names of the types that a converted symbol declares for its variables."""
    codes = {name: attrs.get("__dtype__", "-1") for name, attrs in sym.attr_dict().items()}
    return {name: CODE_TO_NAME[int(code)] for name, code in codes.items() if code != "-1"}


def _stored(array: Any, dtype: str | None) -> Any:
    """A parameter in the type the symbol declares for it."""
    if dtype is None or name_of(array.dtype) == dtype:
        return array
    return cast(array, dtype) if dtype == "bfloat16" else array.astype(dtype)


def convert_model(
    sym: Any, arg_params: Any, aux_params: Any, target_dtype: Any = "float16", target_dtype_ops: Any = None, fp32_ops: Any = None,
    conditional_fp32_ops: Any = None, excluded_sym_names: Any = None, cast_optional_params: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(symbol, arg_params, aux_params) of a float32 model for mixed precision; arguments as in `convert_symbol`.

    The dicts are the given ones, as in MXNet: parameters that change their type are replaced in them.
    """
    _check_target(target_dtype)
    assert isinstance(sym, Symbol), f"First argument to convert_model should be Symbol, not {type(sym)}"
    assert isinstance(arg_params, dict), "Second argument to convert_model should be a dict of name to ndarray"
    assert isinstance(aux_params, dict), "Third argument to convert_model should be a dict of name to ndarray"
    data_names = [name for name in sym.list_inputs() if name not in arg_params and name not in aux_params]
    sym = convert_symbol(sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, data_names, cast_optional_params)
    dtypes = _stored_dtypes(sym)
    for names, params in ((sym.list_arguments(), arg_params), (sym.list_auxiliary_states(), aux_params)):
        for name in names:
            if name in params:
                params[name] = _stored(params[name], dtypes.get(name))
    return sym, arg_params, aux_params


def convert_hybrid_block(
    block: Any, target_dtype: Any = "float16", target_dtype_ops: Any = None, fp32_ops: Any = None, conditional_fp32_ops: Any = None,
    excluded_sym_names: Any = None, ctx: Any = None, cast_optional_params: bool = False,
) -> Any:  # fmt: skip
    """A SymbolBlock for inference that runs a float32 block in mixed precision; arguments as in `convert_symbol`, ctx as in MXNet gpu(0).

    Errors: AssertionError for blocks that are not hybrid, RuntimeError before the block has been hybridized and called.
    """
    from ...gluon import HybridBlock, SymbolBlock

    assert isinstance(block, HybridBlock), f"block input should be a HybridBlock, not {type(block)}"
    if not block._cached_graph:
        raise RuntimeError("the block has no graph yet: call block.hybridize() and run forward at least once before converting it")
    inputs, sym = block._cached_graph
    names = [variable.name for variable in inputs]
    converted = convert_symbol(
        sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, [n for n in names if n in sym.list_inputs()],
        cast_optional_params,
    )  # fmt: skip
    dtypes, arguments, states = _stored_dtypes(converted), set(converted.list_arguments()), set(converted.list_auxiliary_states())
    arrays = {}
    for name, parameter in block.collect_params().items():
        if name in arguments or name in states:
            arrays[name] = _stored(parameter._reduce(), dtypes.get(name))
    result = SymbolBlock(converted, inputs)
    for name, parameter in result.collect_params().items():
        if name in arrays and name_of(parameter.dtype) != name_of(arrays[name].dtype):
            parameter.cast(arrays[name].dtype)
    result.collect_params().load_dict(arrays, ctx=gpu(0) if ctx is None else ctx)
    return result


def convert_bucketing_module(
    bucketing_mod: Any, target_dtype: Any = "float16", target_dtype_ops: Any = None, fp32_ops: Any = None, conditional_fp32_ops: Any = None,
    excluded_sym_names: Any = None, cast_optional_params: bool = False,
) -> Any:  # fmt: skip
    """A BucketingModule with the buckets and parameters of a float32 one, for mixed precision; arguments as in `convert_symbol`."""
    assert isinstance(bucketing_mod, BucketingModule), f"module should be instance of bucketing module, not {type(bucketing_mod)}"
    assert bucketing_mod._buckets, "Bucketing Module should not be empty"
    assert bucketing_mod.params_initialized, "bucketing_mod params should be initialized for mixed precision conversion"
    arguments, states = bucketing_mod.get_params()
    symbols: dict[Any, Any] = {}
    for key, module in bucketing_mod._buckets.items():
        symbols[key], arguments, states = convert_model(
            module._symbol, arguments, states, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params
        )
    options = ("logger", "context", "work_load_list", "fixed_param_names", "state_names", "group2ctxs", "compression_params")
    given = {name: getattr(bucketing_mod, name if name == "logger" else f"_{name}") for name in options}
    return BucketingModule.load_dict(
        symbols, sym_gen=bucketing_mod._sym_gen, default_bucket_key=bucketing_mod._default_bucket_key, arg_params=arguments, aux_params=states, **given
    )


# -- the lists --------------------------------------------------------------------------------------------------------------------
def list_lp16_ops(target_dtype: Any) -> list[str]:
    """Operators that run in the low type."""
    return lists.symbol_fp16.FP16_FUNCS if _is_fp16(target_dtype) else lists.symbol_bf16.BF16_FUNCS


def list_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in float32."""
    return lists.symbol_fp16.FP32_FUNCS if _is_fp16(target_dtype) else lists.symbol_bf16.FP32_FUNCS


def list_lp16_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in either type, whichever their inputs have."""
    return lists.symbol_fp16.FP16_FP32_FUNCS if _is_fp16(target_dtype) else lists.symbol_bf16.BF16_FP32_FUNCS


def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """(operator, attribute, values): operators that run in float32 when the attribute has one of the values."""
    return lists.symbol_fp16.CONDITIONAL_FP32_FUNCS if _is_fp16(target_dtype) else lists.symbol_bf16.CONDITIONAL_FP32_FUNCS


def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """Operators that run in the widest type of their inputs."""
    return lists.symbol_fp16.WIDEST_TYPE_CASTS if _is_fp16(target_dtype) else lists.symbol_bf16.WIDEST_TYPE_CASTS


def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """Loss heads, whose gradients the loss scale multiplies."""
    return lists.symbol_fp16.LOSS_OUTPUT_FUNCTIONS if _is_fp16(target_dtype) else lists.symbol_bf16.LOSS_OUTPUT_FUNCTIONS


def list_lp16_use_fp32_params(target_dtype: Any) -> dict[str, list[str]] | None:
    """Inputs of low-type operators that stay float32, by operator; None for float16."""
    return None if _is_fp16(target_dtype) else lists.symbol_bf16.BF16_USE_FP32_PARAMS
