"""`mx.image` (also `mx.img`): images decoded, resized, cropped and augmented, for classification and detection, and iterators over them."""

from .. import io, recordio
from .. import ndarray as nd
from ..util import is_np_array
from . import detection, image
from . import detection as det
from .detection import *  # noqa: F403
from .detection import __all__ as _detection_names
from .image import *  # noqa: F403
from .image import __all__ as _image_names

__all__ = ["det", "detection", "image", *_image_names, *_detection_names]
