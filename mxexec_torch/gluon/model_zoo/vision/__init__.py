"""mx.gluon.model_zoo.vision: networks for image classification."""

from __future__ import annotations

from typing import Any

from . import alexnet as _alexnet
from . import densenet as _densenet
from . import inception as _inception
from . import mobilenet as _mobilenet
from . import resnet as _resnet
from . import squeezenet as _squeezenet
from . import vgg as _vgg
from .alexnet import *
from .densenet import *
from .inception import *
from .mobilenet import *
from .resnet import *
from .squeezenet import *
from .vgg import *

_MODELS: dict[str, Any] = {
    "alexnet": _alexnet.alexnet, "inceptionv3": _inception.inception_v3, "squeezenet1.0": _squeezenet.squeezenet1_0,
    "squeezenet1.1": _squeezenet.squeezenet1_1,
    **{f"densenet{n}": getattr(_densenet, f"densenet{n}") for n in (121, 161, 169, 201)},
    **{f"resnet{n}_v{v}": getattr(_resnet, f"resnet{n}_v{v}") for n in (18, 34, 50, 101, 152) for v in (1, 2)},
    **{f"vgg{n}{bn}": getattr(_vgg, f"vgg{n}{bn}") for n in (11, 13, 16, 19) for bn in ("", "_bn")},
    **{
        f"mobilenet{v}{size}": getattr(_mobilenet, f"mobilenet{attribute}{size.replace('.', '_')}")
        for v, attribute in (("", ""), ("v2_", "_v2_"))
        for size in ("1.0", "0.75", "0.5", "0.25")
    },
}  # fmt: skip


def get_model(name: str, **kwargs: Any) -> Any:
    """A network by name; keywords as its function takes them. Errors: ValueError for an unknown name."""
    if name.lower() not in _MODELS:
        raise ValueError(f"Model {name} is not supported. Available options are\n\t" + "\n\t".join(sorted(_MODELS)))
    return _MODELS[name.lower()](**kwargs)
