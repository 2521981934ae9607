"""Starting points for operators that have no operator case of a form that can be varied."""

from __future__ import annotations

from ..opdb.case import Case, integers, normal, positive, uniform, values

__all__ = ["SEEDS"]

_BOXES = uniform(1, 4, 4, low=0.0, high=1.0)
SEEDS = [
    Case("_contrib_MultiBoxPrior", "seed", {"data": normal(1, 2, 3, 4)}, {"sizes": (0.3, 0.5), "ratios": (1.0, 2.0)}),
    Case("_contrib_box_iou", "seed", {"lhs": uniform(3, 4, low=0.0, high=1.0), "rhs": uniform(2, 4, low=0.0, high=1.0)}, {"format": "center"}),
    Case("_contrib_box_nms", "seed", {"data": uniform(2, 5, 6, low=0.0, high=1.0)}, {"overlap_thresh": 0.4}),
    Case("_contrib_bipartite_matching", "seed", {"data": uniform(3, 4, low=0.0, high=1.0)}, {"threshold": 0.2}),
    Case("_contrib_box_decode", "seed", {"data": normal(2, 3, 4, std=0.1), "anchors": uniform(1, 3, 4, low=0.1, high=1.0)}, {}),
    Case("_contrib_box_encode", "seed", {
        "samples": integers(1, 3, low=0, high=1), "matches": integers(1, 3, low=0, high=1), "anchors": uniform(1, 3, 4, low=0.1, high=1.0),
        "refs": uniform(1, 2, 4, low=0.1, high=1.0), "means": values([0.0, 0.0, 0.0, 0.0]), "stds": values([0.1, 0.1, 0.2, 0.2])}, {}),
    Case("_contrib_BatchNormWithReLU", "seed", {
        "data": normal(2, 3, 2), "gamma": positive(3), "beta": normal(3), "moving_mean": normal(3), "moving_var": positive(3)}, {"fix_gamma": False}),
    Case("_contrib_quantize", "seed", {"data": uniform(2, 3), "min_range": values([-1.0]), "max_range": values([1.0])}, {"out_type": "int8"}),
    Case("_contrib_quantize_v2", "seed", {"data": uniform(2, 3)}, {"out_type": "int8", "min_calib_range": -1.0, "max_calib_range": 1.0}),
    Case("_contrib_dequantize", "seed", {
        "data": integers(2, 3, low=-100, high=100, dtype="int8"), "min_range": values([-1.0]), "max_range": values([1.0])}, {}),
    Case("_contrib_requantize", "seed", {
        "data": integers(2, 3, low=-9000, high=9000, dtype="int32"), "min_range": values([-1.0]), "max_range": values([1.0])}, {}),
    Case("_contrib_quantized_flatten", "seed", {
        "data": integers(2, 3, 2, low=-100, high=100, dtype="int8"), "min_data": values([-1.0]), "max_data": values([1.0])}, {}),
    Case("_contrib_quantized_pooling", "seed", {
        "data": integers(1, 2, 4, 4, low=-100, high=100, dtype="int8"), "min_data": values([-1.0]), "max_data": values([1.0])},
        {"kernel": (2, 2), "pool_type": "max"}),
    Case("_image_crop", "seed", {"data": uniform(5, 6, 3, low=0.0, high=255.0)}, {"x": 1, "y": 1, "width": 3, "height": 2}),
    Case("_image_flip_left_right", "seed", {"data": normal(3, 4, 3)}, {}),
    Case("_image_flip_top_bottom", "seed", {"data": normal(3, 4, 3)}, {}),
    Case("_image_normalize", "seed", {"data": normal(3, 4, 4)}, {"mean": (0.1, 0.2, 0.3), "std": (1.0, 2.0, 0.5)}),
    Case("_image_adjust_lighting", "seed", {"data": uniform(4, 4, 3, low=0.0, high=255.0)}, {"alpha": (0.1, 0.2, 0.3)}),
    Case("_image_resize", "seed", {"data": uniform(4, 5, 3, low=0.0, high=255.0)}, {"size": (3, 2)}),
    Case("_image_to_tensor", "seed", {"data": integers(4, 5, 3, high=255, dtype="uint8")}, {}),
    Case("_random_pdf_poisson", "seed", {"sample": integers(2, 3, high=5), "lam": positive(2)}, {}, grad=["lam"]),
    Case("_random_pdf_exponential", "seed", {"sample": positive(2, 3), "lam": positive(2)}, {}),
    Case("_random_pdf_gamma", "seed", {"sample": positive(2, 3), "alpha": positive(2), "beta": positive(2)}, {}),
    Case("_random_pdf_negative_binomial", "seed", {
        "sample": integers(2, 3, high=5), "k": integers(2, low=1, high=4), "p": uniform(2, low=0.2, high=0.8)}, {}, grad=["p"]),
    Case("_random_pdf_generalized_negative_binomial", "seed", {"sample": integers(2, 3, high=5), "mu": positive(2), "alpha": positive(2)}, {},
         grad=["mu", "alpha"]),
    Case("_random_pdf_dirichlet", "seed", {"sample": uniform(2, 3, low=0.2, high=0.4), "alpha": positive(3)}, {}),
    *[Case(f"_random_{n}_like", "seed", {"data": normal(20, 30)}, {}, sample=True)
      for n in ("exponential", "gamma", "generalized_negative_binomial", "negative_binomial", "poisson")],
    Case("_sample_exponential", "seed", {"lam": positive(3)}, {"shape": (400,)}, sample=True),
    Case("_sample_gamma", "seed", {"alpha": positive(3), "beta": positive(3)}, {"shape": (400,)}, sample=True),
    Case("_sample_poisson", "seed", {"lam": positive(3)}, {"shape": (400,)}, sample=True),
    Case("_sample_negative_binomial", "seed", {"k": values([1.0, 2.0, 3.0]), "p": uniform(3, low=0.3, high=0.8)}, {"shape": (400,)}, sample=True),
    Case("_sample_generalized_negative_binomial", "seed", {"mu": positive(3), "alpha": positive(3)}, {"shape": (400,)}, sample=True),
    Case("_scatter_set_nd", "seed", {"lhs": normal(3, 4), "rhs": normal(2), "indices": values([[0, 1], [1, 2]])}, {"shape": (3, 4)}, grad=[]),
    Case("fill_element_0index", "seed", {"lhs": normal(3, 4), "mhs": normal(3), "rhs": integers(3, high=3)}, {}, grad=[]),
    Case("_contrib_SyncBatchNorm", "seed", {
        "data": normal(2, 3, 2), "gamma": positive(3), "beta": normal(3), "moving_mean": normal(3), "moving_var": positive(3)},
        {"fix_gamma": False, "key": "k"}),
]  # fmt: skip
