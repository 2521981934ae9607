"""Single-shot detection layers (`_contrib_MultiBox*`) and region proposals (`_contrib_Proposal`, `_contrib_MultiProposal`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes, show
from ..registry import Attrs, Device, Grad, Tensor, op
from ..values import Bool, Float, FloatTuple, Int
from .runtime.detection import base_anchors, multibox_detection, multibox_target, proposals

__all__: list[str] = []


def _float32(a: Attrs, t: Dtypes) -> None:
    """These layers know float32 only."""
    for position in range(len(t.inputs)):
        t.unify(position, torch.float32)
    for index in range(len(t.outputs)):
        t.unify_out(torch.float32, index)


def _need(s: Shapes, ok: bool, text: str) -> None:
    if not ok:
        raise s.fail(text)


def _check_prior(a: Attrs) -> None:
    if len(a.steps) != 2:
        raise MXNetError(f"Step ndim must be 2: (step_y, step_x), got {a.steps}")
    if not a.sizes or not a.ratios or len(a.offsets) != 2 or not all(0 <= o <= 1 for o in a.offsets):
        raise MXNetError(f"sizes and ratios must not be empty, offsets two numbers in [0, 1]; got {a.sizes}, {a.ratios}, {a.offsets}")
    if a.steps[0] * a.steps[1] < 0:
        raise MXNetError(f"Must specify both step_y and step_x, got {a.steps}")


def _prior_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    _need(s, len(data) >= 4, f"Input data should be 4D: batch-channel-y-x, got {show(data)}")
    _need(s, data[2] != 0 and data[3] != 0, f"a feature map needs cells, got shape {show(data)}")
    if data[2] > 0 and data[3] > 0:
        s.unify_out((1, data[2] * data[3] * (len(a.sizes) + len(a.ratios) - 1), 4))


@op("_contrib_MultiBoxPrior", aliases=("_npx_multibox_prior",), shape=_prior_shape, dtype=_float32, grad=Grad.ZERO)
def multibox_prior(
    data: Tensor, /, *, sizes: FloatTuple = (1.0,), ratios: FloatTuple = (1.0,), clip: Bool = False, steps: FloatTuple = (-1.0, -1.0),
    offsets: FloatTuple = (0.5, 0.5), device: Device,
) -> Tensor:  # fmt: skip
    """Anchor boxes of every cell of a feature map, in parts of the image: all sizes at the first ratio, then the other ratios.

    data (b, c, h, w), only its size matters -> (1, h * w * (sizes + ratios - 1), 4) corners.
    Source: src/operator/contrib/multibox_prior.cc
    """
    _check_prior(Attrs(sizes=sizes, ratios=ratios, steps=steps, offsets=offsets))
    rows, columns = data.shape[2], data.shape[3]
    step_y, step_x = steps if steps[0] > 0 and steps[1] > 0 else (1.0 / rows, 1.0 / columns)
    shapes = [(size, ratios[0]) for size in sizes] + [(sizes[0], ratio) for ratio in ratios[1:]]
    roots = [math.sqrt(ratio) if ratio >= 0 else math.nan for _, ratio in shapes]
    widths = [size * rows / columns * root / 2 for (size, _), root in zip(shapes, roots, strict=True)]
    heights = [size / root / 2 if root else math.copysign(math.inf, size) for (size, _), root in zip(shapes, roots, strict=True)]
    extent = torch.tensor([[(-w, w) for w in widths], [(-h, h) for h in heights]], dtype=torch.float32, device=device)
    x = (torch.arange(columns, dtype=torch.float32, device=device) + offsets[1]) * step_x
    y = (torch.arange(rows, dtype=torch.float32, device=device) + offsets[0]) * step_y
    size = (rows, columns, len(shapes), 2)
    sides = (x[:, None, None] + extent[0]).expand(size), (y[:, None, None, None] + extent[1]).expand(size)
    boxes = torch.stack(sides, -1).reshape(1, -1, 4)
    return boxes.clamp(0.0, 1.0) if clip else boxes


def _detection_shape(a: Attrs, s: Shapes) -> None:
    probability, location, anchor = s.inputs
    if probability is None or location is None or anchor is None:
        return
    _need(s, len(probability) == 3, f"cls_prob must have three dimensions (batch, classes, anchors). Provided: {show(probability)}")
    _need(s, len(location) == 2, f"loc_pred must have two dimensions (batch, 4 * anchors). Provided: {show(location)}")
    _need(s, len(anchor) == 3 and anchor[2] in (4, -1), f"anchor must be (1, anchors, 4). Provided: {show(anchor)}")
    _need(s, probability[2] == anchor[1] or -1 in (probability[2], anchor[1]), f"Number of anchors mismatch: {probability[2]} and {anchor[1]}")
    matching = probability[2] * 4 == location[1] or -1 in (probability[2], location[1])
    _need(s, matching, f"# anchors mismatch with # loc: {probability[2]} and {location[1]}")
    s.unify_out((probability[0], anchor[1], 6))


def _check_variances(a: Attrs) -> None:
    if len(a.variances) != 4:
        raise MXNetError(f"Variance size must be 4, got {a.variances}")


@op("_contrib_MultiBoxDetection", aliases=("_npx_multibox_detection",), shape=_detection_shape, dtype=_float32, grad=Grad.ZERO)
def multibox_detection_(
    cls_prob: Tensor, loc_pred: Tensor, anchor: Tensor, /, *, clip: Bool = True, threshold: Float = 0.01, background_id: Int = 0,
    nms_threshold: Float = 0.5, force_suppress: Bool = False, variances: FloatTuple = (0.1, 0.1, 0.2, 0.2), nms_topk: Int = -1,
) -> Tensor:  # fmt: skip
    """Detections of an SSD head after non-maximum suppression.

    cls_prob (b, classes, n), loc_pred (b, 4n), anchor (1, n, 4) -> (b, n, 6): class (-1: none), score, corners; best first.
    background_id has no effect: MXNet's kernels take class 0 as the background. Source: src/operator/contrib/multibox_detection.cc
    """
    _check_variances(Attrs(variances=variances))
    return multibox_detection(cls_prob, loc_pred, anchor, clip, threshold, nms_threshold, force_suppress, variances, nms_topk)


def _target_shape(a: Attrs, s: Shapes) -> None:
    anchor, label, prediction = s.inputs
    if anchor is None or label is None or prediction is None:
        return
    _need(s, len(anchor) == 3 and anchor[0] in (1, -1), f"Anchors are shared across batches: (1, n, 4) expected, got {show(anchor)}")
    _need(s, anchor[2] in (4, -1), f"Box dimension should be 4: [xmin, ymin, xmax, ymax], got {show(anchor)}")
    _need(s, len(label) == 3, f"Label should be [batch, num_labels, label_width] tensor, got {show(label)}")
    _need(s, label[2] >= 5 or label[2] == -1, f"Label width should be greater than or equal to 5, got {label[2]}")
    _need(s, len(prediction) == 3, f"Prediction: [batch, num_classes, num_anchors], got {show(prediction)}")
    _need(s, prediction[2] == anchor[1] or -1 in (prediction[2], anchor[1]), f"Number of anchors mismatch: {prediction[2]} and {anchor[1]}")
    flat = anchor[1] * 4 if anchor[1] != -1 else -1
    s.unify_out((label[0], flat), 0)
    s.unify_out((label[0], flat), 1)
    s.unify_out((label[0], anchor[1]), 2)


@op(
    "_contrib_MultiBoxTarget", aliases=("_npx_multibox_target",), shape=_target_shape, dtype=_float32, grad=Grad.ZERO,
    outputs=("loc_target", "loc_mask", "cls_target"),
)  # fmt: skip
def multibox_target_(
    anchor: Tensor, label: Tensor, cls_pred: Tensor, /, *, overlap_threshold: Float = 0.5, ignore_label: Float = -1.0,
    negative_mining_ratio: Float = -1.0, negative_mining_thresh: Float = 0.5, minimum_negative_samples: Int = 0,
    variances: FloatTuple = (0.1, 0.1, 0.2, 0.2),
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Training targets of an SSD head: each true box takes its best anchor, other anchors the box they overlap enough.

    anchor (1, n, 4), label (b, m, >= 5) of class and corners padded with -1, cls_pred (b, classes, n)
    -> offsets (b, 4n), their mask (b, 4n), classes (b, n) with 0 for background. Source: src/operator/contrib/multibox_target.cc
    """
    _check_variances(Attrs(variances=variances))
    return multibox_target(anchor, label, cls_pred, overlap_threshold, ignore_label, negative_mining_ratio, negative_mining_thresh, variances)


def _proposal_shape(many: bool) -> Callable[[Attrs, Shapes], None]:
    def rule(a: Attrs, s: Shapes) -> None:
        scores = s.get("cls_prob")
        if scores is None:
            return
        _need(s, len(scores) == 4, f"cls_prob must have four dimensions (batch, 2 * anchors, h, w), got {show(scores)}")
        batch, channels, rows, columns = scores
        s.unify("bbox_pred", (batch, channels * 2 if channels != -1 else -1, rows, columns))
        s.unify("im_info", (batch, 3))
        total = a.rpn_post_nms_top_n * (batch if many else 1) if batch != -1 or not many else -1
        s.unify_out((total, 5), 0)
        s.unify_out((total, 1), 1)

    return rule


def _proposal(name: str, many: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return op(
        name, shape=_proposal_shape(many), dtype=_float32, grad=Grad.ZERO, outputs=("output", "score"), visible=lambda a: 2 if a.output_score else 1
    )


def _regions(
    cls_prob: Tensor, bbox_pred: Tensor, im_info: Tensor, scales: tuple[float, ...], ratios: tuple[float, ...], stride: int, *rest: Any
) -> tuple[Tensor, Tensor]:
    if cls_prob.shape[1] // 2 != len(ratios) * len(scales):
        raise MXNetError(f"cls_prob has {cls_prob.shape[1] // 2} anchors a cell, ratios and scales give {len(ratios) * len(scales)}")
    before, after, threshold, min_size, iou_loss = rest
    anchors = tuple(tuple(box) for box in base_anchors(stride, scales, ratios))
    return proposals(cls_prob, bbox_pred, im_info, anchors, before, after, threshold, min_size, stride, iou_loss)


@_proposal("_contrib_Proposal", False)
def proposal(
    cls_prob: Tensor, bbox_pred: Tensor, im_info: Tensor, /, *, rpn_pre_nms_top_n: Int = 6000, rpn_post_nms_top_n: Int = 300,
    threshold: Float = 0.7, rpn_min_size: Int = 16, scales: FloatTuple = (4.0, 8.0, 16.0, 32.0), ratios: FloatTuple = (0.5, 1.0, 2.0),
    feature_stride: Int = 16, output_score: Bool = False, iou_loss: Bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Regions of interest of one image from a region proposal network.

    cls_prob (1, 2a, h, w), bbox_pred (1, 4a, h, w), im_info (1, 3) = height, width, scale -> (rpn_post_nms_top_n, 5) = image, corners, and
    their scores (rpn_post_nms_top_n, 1); the kept regions repeat when they are fewer. Source: src/operator/contrib/proposal.cc
    """
    if cls_prob.shape[0] != 1:
        raise MXNetError(f"Proposal takes one image, got a batch of {cls_prob.shape[0]}: use MultiProposal")
    rest = (rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold, rpn_min_size, iou_loss)
    return _regions(cls_prob, bbox_pred, im_info, scales, ratios, feature_stride, *rest)


@_proposal("_contrib_MultiProposal", True)
def multi_proposal(
    cls_prob: Tensor, bbox_pred: Tensor, im_info: Tensor, /, *, rpn_pre_nms_top_n: Int = 6000, rpn_post_nms_top_n: Int = 300,
    threshold: Float = 0.7, rpn_min_size: Int = 16, scales: FloatTuple = (4.0, 8.0, 16.0, 32.0), ratios: FloatTuple = (0.5, 1.0, 2.0),
    feature_stride: Int = 16, output_score: Bool = False, iou_loss: Bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Regions of interest of a batch of images; see Proposal.

    cls_prob (b, 2a, h, w), bbox_pred (b, 4a, h, w), im_info (b, 3) -> (b * rpn_post_nms_top_n, 5) and (b * rpn_post_nms_top_n, 1).
    Source: src/operator/contrib/multi_proposal.cc
    """
    rest = (rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold, rpn_min_size, iou_loss)
    return _regions(cls_prob, bbox_pred, im_info, scales, ratios, feature_stride, *rest)
