"""Anchor boxes, their targets and detections, region proposals, non-maximum suppression, overlaps and matching."""

from typing import Any

import numpy as np

from ..case import Array, Case, integers, normal, uniform, values, zeros


def _boxes(*shape: int, seed: int = 0, scale: float = 1.0, rounded: bool = False) -> Array:
    """Corner boxes inside [0, 1.3 * scale)."""
    rng = np.random.RandomState(seed)
    corner = rng.rand(*shape, 2)
    found = np.concatenate([corner, corner + 0.3 * rng.rand(*shape, 2)], -1) * scale
    return values((np.round(found, 1) if rounded else found).astype("float32").tolist())


def _scored(batch: int, count: int, rounded: bool = False) -> Array:
    """Rows of class, score and box."""
    rng = np.random.RandomState(count)
    corner = rng.rand(batch, count, 2)
    scores = rng.rand(batch, count, 1)
    columns = [rng.randint(0, 4, (batch, count, 1)), np.round(scores, 1) if rounded else scores, corner, corner + 0.3 * rng.rand(batch, count, 2)]
    return values(np.concatenate(columns, -1).astype("float32").tolist())


def _labels(batch: int, count: int, rounded: bool = False) -> Array:
    """Ground truth: class and box; the first picture has none, the second only half of them."""
    rng = np.random.RandomState(count)
    boxes = np.array(_boxes(batch, count, seed=5, rounded=rounded).parameters[0])
    found = np.concatenate([rng.randint(0, 5, (batch, count, 1)), boxes], -1).astype("float32")
    found[0] = -1
    found[1, count // 2 :] = -1
    return values(found.tolist())


def _probabilities(batch: int, classes: int, count: int, rounded: bool = False) -> Array:
    raw = np.random.RandomState(classes).rand(batch, classes, count) ** 3
    found = raw / raw.sum(1, keepdims=True)
    return values((np.round(found, 1) if rounded else found).astype("float32").tolist())


def _detection(label: str, rounded: bool = False, **attrs: Any) -> Case:
    inputs = dict(cls_prob=_probabilities(2, 4, 40, rounded), loc_pred=normal(2, 160), anchor=_boxes(1, 40))
    return Case("_contrib_MultiBoxDetection", label, inputs=inputs, attrs=attrs, grad=())


def _target(label: str, rounded: bool = False, **attrs: Any) -> Case:
    inputs = dict(anchor=_boxes(1, 60, rounded=rounded), label=_labels(3, 4, rounded), cls_pred=normal(3, 6, 60))
    return Case("_contrib_MultiBoxTarget", label, inputs=inputs, attrs=attrs, grad=())


def _proposal(op: str, label: str, anchors: int = 12, **attrs: Any) -> Case:
    batch, stride = 1 if op == "_contrib_Proposal" else 2, attrs.get("feature_stride", 16)
    information = values([[5.0 * stride - 5, 5.0 * stride, 1.0 + i] for i in range(batch)])
    inputs = dict(cls_prob=uniform(batch, 2 * anchors, 5, 6, low=0), bbox_pred=normal(batch, 4 * anchors, 5, 6, std=0.2), im_info=information)
    return Case(op, label, inputs=inputs, attrs=attrs, grad=())


def _nms(label: str, data: Array | None = None, error: bool = False, **attrs: Any) -> Case:
    given = dict(coord_start=2, score_index=1, **attrs)
    return Case("_contrib_box_nms", label, inputs=dict(data=data or _scored(2, 30)), attrs=given, error=error, gradcheck="not differentiable")


def _matching(label: str, *shape: int, **attrs: Any) -> Case:
    return Case("_contrib_bipartite_matching", label, inputs=dict(data=uniform(*shape, low=0)), attrs=attrs, grad=())


_PRIOR = dict(data=zeros(2, 3, 4, 7))
_TWO = dict(lhs=_boxes(4, 5), rhs=_boxes(7, seed=1))

CASES = [
    *[
        Case("_contrib_MultiBoxPrior", label, inputs=_PRIOR, attrs=attrs, grad=())
        for label, attrs in (
            ("default", {}), ("clipped", dict(clip=True, sizes=(0.2, 0.4, 0.1), ratios=(1, 2, 0.5))),
            ("placed", dict(steps=(0.3, 0.2), offsets=(0.1, 0.9))),
        )
    ],
    *[
        Case("_contrib_MultiBoxPrior", label, inputs=_PRIOR, attrs=attrs, error=True, grad=())
        for label, attrs in (("offset", dict(offsets=(2, 1))), ("steps", dict(steps=(1, 2, 3))), ("one_step", dict(steps=(0.3, -0.2))), ("no_size", dict(sizes=())))
    ],
    _detection("default"), _detection("rounded", rounded=True), _detection("overlap", nms_threshold=0.2, threshold=0.3),
    _detection("no_nms", nms_threshold=0), _detection("topk", nms_topk=10), _detection("nothing", threshold=2.0),
    _detection("forced", force_suppress=True, clip=False), _detection("variances", variances=(0.2, 0.2, 0.1, 0.1), background_id=0),
    _target("default"), _target("rounded", rounded=True), _target("mined", negative_mining_ratio=3, negative_mining_thresh=0.5, overlap_threshold=0.2),
    _target("best_only", overlap_threshold=-1), _target("ignored", ignore_label=-5, negative_mining_ratio=0.5),
    *[
        made
        for op in ("_contrib_Proposal", "_contrib_MultiProposal")
        for made in (
            _proposal(op, "fewer", rpn_post_nms_top_n=20), _proposal(op, "scores", output_score=True, rpn_pre_nms_top_n=100, rpn_post_nms_top_n=150),
            _proposal(op, "anchors", anchors=2, scales=(8,), ratios=(0.5, 1), feature_stride=8, rpn_min_size=2, output_score=True, threshold=0.3),
            _proposal(op, "corners", iou_loss=True, output_score=True),
        )
    ],
    _nms("default"), _nms("overlap", overlap_thresh=0.2, valid_thresh=0.3), _nms("ids", id_index=0), _nms("forced", id_index=0, force_suppress=True),
    _nms("background", id_index=0, background_id=1), _nms("topk", topk=7), _nms("nothing", valid_thresh=2.0), _nms("ties", _scored(2, 24, rounded=True)),
    _nms("center", in_format="center"), _nms("center_to_corner", in_format="center", out_format="corner"), _nms("to_center", out_format="center"),
    _nms("too_narrow", normal(2, 3, 5), error=True),
    *[Case("_contrib_box_iou", form, inputs=_TWO, attrs=dict(format=form), gradcheck="MXNet's gradient is zero") for form in ("corner", "center")],
    Case("_contrib_box_iou", "width", inputs=dict(lhs=normal(4, 3), rhs=normal(2, 4)), error=True),
    _matching("default", 5, 4, threshold=0.3), _matching("ascending", 5, 4, threshold=0.6, is_ascend=True),
    _matching("topk", 2, 3, 6, 9, threshold=0.1, topk=2),
    Case("_contrib_box_encode", grad=(), inputs=dict(
        samples=integers(2, 50, low=-1, high=1), matches=integers(2, 50, high=6), anchors=_boxes(2, 50), refs=_boxes(2, 7, seed=3),
        means=values([0.0, 0.1, 0.2, 0.3]), stds=values([0.1, 0.1, 0.2, 0.2]))),
    *[
        Case("_contrib_box_decode", f"{form}_{label}", inputs=dict(data=normal(3, 50, 4), anchors=_boxes(1, 50)), attrs=dict(format=form, **attrs), grad=())
        for form in ("corner", "center") for label, attrs in (("scaled", dict(std0=0.1, std1=0.2, std3=0.3)), ("clipped", dict(clip=0.5)))
    ],
]  # fmt: skip
