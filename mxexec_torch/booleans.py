"""Which operators take arrays of element type bool. MXNet's kernels do not, with the exceptions listed here (asked operator by operator)."""

from __future__ import annotations

__all__ = ["takes_bool"]

# Operators whose kernels answered when all their inputs, or those that may differ in type, were bool.
_TAKES = frozenset(
    """
    BatchNorm_v1 BlockGrad Cast Flatten IdentityAttachKLSparseReg Reshape broadcast_axis broadcast_like broadcast_to expand_dims gather_nd make_loss
    max mean min nanprod nansum norm ones_like prod repeat reshape_like scatter_nd shape_array size_array slice slice_like squeeze stack sum take
    tile zeros_like
    _copy _identity_with_attr_like_rhs _np_cumsum
    _contrib_BatchNormWithReLU _contrib_SyncBatchNorm _contrib_boolean_mask _contrib_gradientmultiplier _contrib_index_array
    _image_adjust_lighting _image_crop _image_flip_left_right _image_flip_top_bottom _image_random_brightness _image_random_contrast
    _image_random_flip_left_right _image_random_flip_top_bottom _image_random_hue _image_random_lighting _image_random_saturation
    _image_resize _image_to_tensor
    _plus_scalar _minus_scalar _rminus_scalar _mul_scalar _div_scalar _rdiv_scalar _mod_scalar _rmod_scalar _power_scalar _rpower_scalar
    _maximum_scalar _minimum_scalar _hypot_scalar _equal_scalar _not_equal_scalar _greater_scalar _greater_equal_scalar _lesser_scalar
    _lesser_equal_scalar _logical_and_scalar _logical_or_scalar _logical_xor_scalar _scatter_plus_scalar _scatter_minus_scalar
    """.split()
)
# Not decided by a kernel of their own type: user code, control flow, copies, storage, codecs, generated numbers, quantized and fused kernels.
_OTHER = frozenset("_foreach _while_loop _cond Custom _set_value _copyto _CrossDeviceCopy cast_storage reset_arrays _scatter_set_nd".split())
_OTHER_KINDS = (
    "_cv", "_random_", "_sample_", "_shuffle", "_contrib_quantize", "_contrib_dequantize", "_contrib_requantize", "_contrib_calibrate", "_contrib_dgl_",
    "_sg_mkldnn_",
)  # fmt: skip


def takes_bool(name: str) -> bool:
    """Whether the operator registered under this name computes on bool data; it is an error for all others."""
    return name in _TAKES or name in _OTHER or (name.startswith(_OTHER_KINDS) and not name.startswith("_random_pdf_"))
