"""Operators, one module a family. Importing this package fills the registry."""

from . import attention, indexing, join, linalg, matmul, optimizer_multi, optimizer_rules, optimizer_update, ordering, rearrange, reshape, slicing  # noqa: F401
from . import boxes, control_flow, custom, detection, fused_attention, fused_mkldnn, image, image_codec, quantization, quantized, random, random_pdf, random_sample  # noqa: F401
from . import activation, convolution, ctc, deformable, dropout, embedding, hawkes, loss, nn_basic, normalization, pooling, regularization, resize, rnn, roi, sequence, spatial  # noqa: F401
from . import binary, broadcast, creation, finite, identity, reduce, scalar, select, softmax, unary, unary_attrs  # noqa: F401
from . import storage  # noqa: F401
