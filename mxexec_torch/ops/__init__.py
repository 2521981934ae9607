"""Operators, one module a family. Importing this package fills the registry."""

from . import indexing, join, matmul, optimizer_update, random, reshape, slicing  # noqa: F401
from . import random  # noqa: F401
from . import random_pdf  # noqa: F401
from . import random_sample  # noqa: F401
from . import activation, convolution, dropout, embedding, loss, nn_basic, normalization, pooling, rnn, sequence  # noqa: F401
from . import binary, broadcast, creation, finite, identity, reduce, scalar, select, softmax, unary, unary_attrs  # noqa: F401
from . import storage  # noqa: F401
