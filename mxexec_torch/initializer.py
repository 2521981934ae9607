"""mx.init: how parameters get their first values, by the ending of their name or by the variable's own `__init__` attribute."""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from math import ceil, prod, sqrt
from typing import Any

import numpy as np

from . import ndarray, random
from .factories import get_alias_func, get_create_func, get_register_func
from .ndarray.core import NDArray

__all__ = [
    "Bilinear", "Constant", "FusedRNN", "InitDesc", "Initializer", "LSTMBias", "Load", "MSRAPrelu", "Mixed", "Normal", "One", "Orthogonal",
    "Uniform", "Xavier", "Zero", "register",
]  # fmt: skip


class InitDesc(str):
    """A parameter's name with the attributes of its variable and the initializer in charge of the whole network."""

    attrs: dict[str, str]
    global_init: Any

    def __new__(cls, name: str, attrs: dict[str, str] | None = None, global_init: Any = None) -> InitDesc:
        made = super().__new__(cls, name)
        made.attrs = attrs or {}
        made.global_init = global_init
        return made


# Name endings and the method that serves them, in the order in which they are tried; (ending, method, word printed).
_ENDINGS = (
    ("weight", "_init_weight"), ("bias", "_init_bias"), ("gamma", "_init_gamma"), ("beta", "_init_beta"), ("min", "_init_zero"),
    ("max", "_init_one"), ("weight_quantize", "_init_quantized_weight"), ("bias_quantize", "_init_quantized_bias"),
)  # fmt: skip
_PLAIN_ENDINGS = (
    ("bias", "_init_bias"), ("gamma", "_init_gamma"), ("beta", "_init_beta"), ("weight", "_init_weight"), ("moving_mean", "_init_zero"),
    ("moving_var", "_init_one"), ("moving_inv_var", "_init_zero"), ("moving_avg", "_init_zero"), ("min", "_init_zero"), ("max", "_init_one"),
)  # fmt: skip


class Initializer:
    """Base class: `init(InitDesc, array)` fills the array. Subclasses define `_init_weight(name, array)`.

    The variable's `__init__` attribute wins; otherwise the ending of the name decides: weight, bias (0), gamma (1), beta (0), min (0),
    max (1). Errors: ValueError for any other ending.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[Any], str] | None = None

    def set_verbosity(self, verbose: bool = False, print_func: Callable[[Any], str] | None = None) -> Initializer:
        """Whether to log each parameter with `print_func` of it (default: norm / sqrt(size))."""
        self._verbose = verbose
        self._print_func = print_func or (lambda x: str((ndarray.norm(x) / sqrt(x.size)).asscalar()))
        return self

    def _verbose_print(self, desc: str, init: str, arr: Any) -> None:
        if self._verbose and self._print_func:
            logging.info("Initialized %s as %s: %s", desc, init, self._print_func(arr))

    def dumps(self) -> str:
        """The initializer as JSON, `["name", {arguments}]`, as `__init__` attributes hold it."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, desc: Any, arr: Any) -> None:
        if not isinstance(desc, InitDesc):
            self._by_plain_name(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__", "")
        if own:
            create(own)._init_weight(desc, arr)
            self._verbose_print(desc, own, arr)
            return
        for ending, method in _ENDINGS:
            if desc.endswith(ending):
                getattr(self, method)(desc, arr)
                self._verbose_print(desc, ending, arr)
                return
        self._init_default(desc, arr)

    def _by_plain_name(self, name: Any, arr: Any) -> None:
        text = "Calling an initializer with (str, NDArray) is deprecated: call it with (mx.init.InitDesc(...), NDArray)"
        warnings.warn(text, DeprecationWarning, stacklevel=3)
        if not isinstance(name, str):
            raise TypeError("name must be string")
        if not isinstance(arr, NDArray):
            raise TypeError("arr must be NDArray")
        if name.startswith("upsampling"):
            self._init_bilinear(name, arr)
        elif name.startswith("stn_loc") and name.endswith("weight"):
            self._init_zero(name, arr)
        elif name.startswith("stn_loc") and name.endswith("bias"):
            self._init_loc_bias(name, arr)
        else:
            method = next((method for ending, method in _PLAIN_ENDINGS if name.endswith(ending)), "_init_default")
            getattr(self, method)(name, arr)

    def _init_bilinear(self, _: str, arr: Any) -> None:
        arr[:] = _bilinear(arr.shape)

    def _init_loc_bias(self, _: str, arr: Any) -> None:
        assert arr.shape[0] == 6
        arr[:] = np.array([1.0, 0, 0, 0, 1.0, 0])  # the identity transformation

    def _init_zero(self, _: str, arr: Any) -> None:
        arr[:] = 0.0

    def _init_one(self, _: str, arr: Any) -> None:
        arr[:] = 1.0

    def _init_bias(self, _: str, arr: Any) -> None:
        arr[:] = 0.0

    def _init_quantized_bias(self, _: str, arr: Any) -> None:
        arr[:] = 0

    def _init_gamma(self, _: str, arr: Any) -> None:
        arr[:] = 1.0

    def _init_beta(self, _: str, arr: Any) -> None:
        arr[:] = 0.0

    def _init_weight(self, name: str, arr: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no _init_weight")

    def _init_quantized_weight(self, _: str, arr: Any) -> None:
        arr[:] = np.int8(random.randint(-127, 127, dtype="int32").asnumpy())  # one number for all elements, as in MXNet

    def _init_default(self, name: str, _: Any) -> None:
        raise ValueError(
            f"Unknown initialization pattern for {name}. The endings weight, bias (0), gamma (1) and beta (0) have a default; "
            "use mx.sym.Variable(init=mx.init.*) for others"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self._kwargs == other._kwargs

    __hash__ = None  # type: ignore[assignment]  # mutable: compared by value


def _bilinear(shape: Sequence[int]) -> Any:
    """The kernel of bilinear upsampling, the same for all channels."""
    height, width = shape[2], shape[3]
    factor = ceil(width / 2.0)
    center = (2 * factor - 1 - factor % 2) / (2.0 * factor)
    across, down = 1 - np.abs(np.arange(width) / factor - center), 1 - np.abs(np.arange(height) / factor - center)
    return np.broadcast_to(np.outer(down, across).astype("float32"), shape).copy()


_register = get_register_func(Initializer, "initializer")
alias = get_alias_func(Initializer, "initializer")
create = get_create_func(Initializer, "initializer")


def register(klass: type) -> type:
    """Class decorator: makes an initializer known by its lower-case class name."""
    return _register(klass)  # type: ignore[no-any-return]


class Load:
    """Takes values from a file or dict of arrays (`arg:` and `aux:` prefixes are dropped), the others from `default_init`."""

    def __init__(self, param: Any, default_init: Any = None, verbose: bool = False) -> None:
        arrays = ndarray.load(param) if isinstance(param, str) else param
        assert isinstance(arrays, dict), "Load needs a dict of arrays by name, or a file that holds one"
        self.param: dict[str, Any] = {name[4:] if name.startswith(("arg:", "aux:")) else name: array for name, array in arrays.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: Any) -> None:
        if name in self.param:
            found = self.param[name]
            assert arr.shape == found.shape, f"Parameter {name} cannot be loaded: its shape is {arr.shape}, the loaded array's {found.shape}"
            arr[:] = found
        else:
            assert self.default_init is not None, f"Cannot initialize {name}: it is not among the loaded arrays and there is no default_init"
            self.default_init(name, arr)
        if self.verbose:
            logging.info("Initialized %s by %s", name, "loading" if name in self.param else "default")


class Mixed:
    """Chooses an initializer by regular expression: the first pattern that matches the start of the name decides."""

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        assert len(patterns) == len(initializers), f"{len(patterns)} patterns for {len(initializers)} initializers"
        self.map = [(re.compile(pattern), init) for pattern, init in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, arr: Any) -> None:
        for pattern, init in self.map:
            if pattern.match(name):
                init(name, arr)
                return
        raise ValueError(f'Parameter name {name} did not match any pattern. Consider adding a ".*" pattern at the end with a default initializer.')


def _draw(kind: str, low: float, high: float, arr: Any) -> None:
    """Fills an array with random numbers: 'uniform' in [low, high) or 'normal' of mean low and deviation high."""
    getattr(ndarray.random, kind)(low, high, arr.shape, out=arr)


@register
@alias("zeros")
class Zero(Initializer):
    """All zeros."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: str, arr: Any) -> None:
        arr[:] = 0


@register
@alias("ones")
class One(Initializer):
    """All ones."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: str, arr: Any) -> None:
        arr[:] = 1


@register
class Constant(Initializer):
    """A number, or an array of the parameter's shape."""

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, _: str, arr: Any) -> None:
        arr[:] = self.value

    def dumps(self) -> str:
        value = self._kwargs["value"]
        if not np.isscalar(value):
            self._kwargs["value"] = (value if isinstance(value, np.ndarray) else value.asnumpy()).tolist()
        return super().dumps()


@register
class Uniform(Initializer):
    """Uniform in [-scale, scale)."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _: str, arr: Any) -> None:
        _draw("uniform", -self.scale, self.scale, arr)


@register
class Normal(Initializer):
    """Normal of mean 0 and deviation sigma."""

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _: str, arr: Any) -> None:
        _draw("normal", 0, self.sigma, arr)


@register
class Orthogonal(Initializer):
    """A random matrix with orthogonal rows or columns, times scale. Axes after the first count as one."""

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, _: str, arr: Any) -> None:
        shape = (arr.shape[0], prod(arr.shape[1:]))
        if self.rand_type not in ("uniform", "normal"):
            raise ValueError(f"rand_type must be 'uniform' or 'normal', not {self.rand_type!r}")
        draw = random.uniform(-1.0, 1.0, shape=shape) if self.rand_type == "uniform" else random.normal(0.0, 1.0, shape=shape)
        left, _unused, right = np.linalg.svd(draw.asnumpy(), full_matrices=False)
        arr[:] = self.scale * (left if left.shape == shape else right).reshape(arr.shape)


@register
class Xavier(Initializer):
    """Deviation sqrt(magnitude / fan), fan = inputs ('in'), outputs ('out') or their mean ('avg') of a unit; uniform or gaussian.

    Errors: ValueError for vectors and unknown factor_type or rnd_type.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: Any) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise ValueError(f"Xavier initializer cannot be applied to vector {name}. It requires at least 2D.")
        area = prod(shape[2:])
        fans = {"in": shape[1] * area, "out": shape[0] * area, "avg": (shape[0] + shape[1]) * area / 2.0}
        if self.factor_type not in fans:
            raise ValueError("Incorrect factor type")
        scale = sqrt(self.magnitude / fans[self.factor_type])
        if self.rnd_type == "uniform":
            _draw("uniform", -scale, scale, arr)
        elif self.rnd_type == "gaussian":
            _draw("normal", 0, scale, arr)
        else:
            raise ValueError("Unknown random type")


@register
class MSRAPrelu(Xavier):
    """Gaussian Xavier of magnitude 2 / (1 + slope^2), for layers followed by PReLU of that slope (He et al. 2015)."""

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """The kernel of bilinear upsampling by deconvolution."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: str, arr: Any) -> None:
        arr[:] = _bilinear(arr.shape)


@register
class LSTMBias(Initializer):
    """Zeros, but `forget_bias` for the forget gate, the second quarter of an LSTM's bias."""

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: Any) -> None:
        arr[:] = 0.0
        hidden = arr.shape[0] // 4
        arr[hidden : 2 * hidden] = self.forget_bias


@register
class FusedRNN(Initializer):
    """The packed parameters of a fused RNN: `init` (or the network's initializer when None) for each part, forget_bias for LSTM's."""

    def __init__(
        self, init: Any, num_hidden: int, num_layers: int, mode: str, bidirectional: bool = False, forget_bias: float = 1.0
    ) -> None:
        if isinstance(init, str):
            init = create(init)
        settings: Mapping[str, Any] = {
            "num_hidden": num_hidden, "num_layers": num_layers, "mode": mode, "bidirectional": bidirectional, "forget_bias": forget_bias,
        }  # fmt: skip
        super().__init__(init=None if init is None else init.dumps(), **settings)
        self._init = init
        self._settings = settings

    def _init_weight(self, desc: Any, arr: Any) -> None:
        from .rnn.rnn_cell import FusedRNNCell  # mx.rnn is built on symbols and this module

        cell = FusedRNNCell(prefix="", **self._settings)
        parts = cell.unpack_weights({"parameters": arr})
        for name, part in parts.items():
            if self._settings["mode"] == "lstm" and name.endswith("_f_bias"):
                part[:] = self._settings["forget_bias"]
            else:
                (desc.global_init if self._init is None else self._init)(InitDesc(name, global_init=desc.global_init), part)
        arr[:] = cell.pack_weights(parts)["parameters"]
