"""Detection operators at the sizes of real networks: SSD300 (8,732 anchors, 21 classes) and Faster R-CNN (an image of 600 x 1000 pixels).

Boxes come as a network gives them: clusters around a few objects, with scores that fall off from their centres, in a field of background.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["DETECTION"]

Step = Callable[[], Any]
DETECTION: dict[str, Callable[[Any], Step]] = {}
ANCHORS, CLASSES, ROWS, COLUMNS = 8732, 21, 38, 63


def _operator(name: str, inputs: Callable[[np.random.RandomState], list[np.ndarray]], gradient: bool = False, **attrs: Any) -> Callable[[Any], Step]:
    """A workload that calls one operator, and with `gradient` its derivative by the first input too."""

    def make(mx: Any) -> Step:
        function = getattr(mx.nd, name, None) or getattr(mx.nd.contrib, name)
        arrays = [mx.nd.array(v.astype("float32")) for v in inputs(np.random.RandomState(0))]

        def step() -> None:
            found = function(*arrays, **attrs)
            (found[0] if isinstance(found, list) else found).wait_to_read()

        def both() -> None:
            with mx.autograd.record():
                found = function(*arrays, **attrs)
            found.backward()
            arrays[0].grad.wait_to_read()

        if gradient:
            arrays[0].attach_grad()
        return both if gradient else step

    return make


def _clusters(rng: np.random.RandomState, count: int, objects: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Corners (count, 4) in [0, 1] and how near each box is to an object (count,)."""
    centre = rng.rand(objects, 2) * 0.8 + 0.1
    extent = rng.uniform(0.1, 0.4, (objects, 2))
    near = rng.rand(count) < 0.2
    of = rng.randint(0, objects, count)
    middle = np.where(near[:, None], centre[of] + rng.normal(0, 0.03, (count, 2)), rng.rand(count, 2))
    size = np.where(near[:, None], extent[of] * np.exp(rng.normal(0, 0.15, (count, 2))), rng.uniform(0.05, 0.5, (count, 2)))
    score = np.where(near, rng.beta(2, 2, count), rng.beta(0.3, 8, count))
    return np.concatenate([middle - size / 2, middle + size / 2], 1), score


def _ssd(batch: int) -> Callable[[np.random.RandomState], list[np.ndarray]]:
    def inputs(rng: np.random.RandomState) -> list[np.ndarray]:
        boxes, score = _clusters(rng, ANCHORS)
        parts = rng.dirichlet([0.1] * (CLASSES - 1), (batch, ANCHORS)).transpose(0, 2, 1) * score
        return [np.concatenate([1 - parts.sum(1, keepdims=True), parts], 1), rng.normal(0, 0.5, (batch, 4 * ANCHORS)), boxes[None]]

    return inputs


def _targets(batch: int) -> Callable[[np.random.RandomState], list[np.ndarray]]:
    def inputs(rng: np.random.RandomState) -> list[np.ndarray]:
        label = np.full((batch, 20, 5), -1.0)
        for image in label:
            image[:8, 0] = rng.randint(0, CLASSES - 1, 8)
            image[:8, 1:] = _clusters(rng, 8)[0].clip(0, 1)
        return [_clusters(rng, ANCHORS)[0][None], label, rng.normal(0, 1, (batch, CLASSES, ANCHORS))]

    return inputs


def _rows(count: int, classes: int) -> Callable[[np.random.RandomState], list[np.ndarray]]:
    """Rows of class, score and corners."""

    def inputs(rng: np.random.RandomState) -> list[np.ndarray]:
        boxes, score = _clusters(rng, count)
        return [np.concatenate([rng.randint(0, classes, (count, 1)), score[:, None], boxes], 1)[None]]

    return inputs


def _feature(batch: int) -> Callable[[np.random.RandomState], list[np.ndarray]]:
    def inputs(rng: np.random.RandomState) -> list[np.ndarray]:
        scores = rng.rand(batch, 24, ROWS, COLUMNS)
        return [scores, rng.normal(0, 0.2, (batch, 48, ROWS, COLUMNS)), np.array([[600.0, 1000.0, 1.0]] * batch)]

    return inputs


def _regions(channels: int, count: int) -> Callable[[np.random.RandomState], list[np.ndarray]]:
    """A feature map of the image and regions in pixels."""

    def inputs(rng: np.random.RandomState) -> list[np.ndarray]:
        boxes = _clusters(rng, count)[0].clip(0, 1) * [1000, 600, 1000, 600]
        return [rng.normal(0, 1, (1, channels, ROWS, COLUMNS)), np.concatenate([np.zeros((count, 1)), boxes], 1)]

    return inputs


def _shifted_regions(rng: np.random.RandomState) -> list[np.ndarray]:
    return [*_regions(8 * 49, 300)(rng), rng.normal(0, 1, (300, 2, 7, 7))]


def _deformed(modulated: bool) -> Callable[[np.random.RandomState], list[np.ndarray]]:
    def inputs(rng: np.random.RandomState) -> list[np.ndarray]:
        data, offset, weight = rng.normal(0, 1, (1, 256, ROWS, COLUMNS)), rng.normal(0, 1, (1, 18, ROWS, COLUMNS)), rng.normal(0, 0.05, (256, 256, 3, 3))
        return [data, offset, *([rng.rand(1, 9, ROWS, COLUMNS)] if modulated else []), weight]

    return inputs


_PROPOSAL: dict[str, Any] = dict(rpn_pre_nms_top_n=6000, rpn_post_nms_top_n=300, threshold=0.7, rpn_min_size=16)
_BINS: dict[str, Any] = dict(pooled_size=(7, 7), spatial_scale=1 / 16)
_PARTS: dict[str, Any] = dict(spatial_scale=1 / 16, output_dim=8, group_size=7, pooled_size=7)
_KERNEL: dict[str, Any] = dict(kernel=(3, 3), pad=(1, 1), num_filter=256, no_bias=True)
DETECTION.update(
    multibox_detection_topk400=_operator("MultiBoxDetection", _ssd(1), nms_topk=400),
    multibox_detection_topk400_batch8=_operator("MultiBoxDetection", _ssd(8), nms_topk=400),
    multibox_detection_all=_operator("MultiBoxDetection", _ssd(1), threshold=0.1),
    multibox_detection_forced=_operator("MultiBoxDetection", _ssd(1), nms_topk=400, force_suppress=True),
    multibox_target=_operator("MultiBoxTarget", _targets(1)),
    multibox_target_mining_batch8=_operator("MultiBoxTarget", _targets(8), negative_mining_ratio=3.0),
    multibox_prior=_operator("MultiBoxPrior", lambda rng: [rng.rand(1, 3, 38, 38)], sizes=(0.1, 0.141), ratios=(1.0, 2.0, 0.5)),
    box_nms_ssd_topk400=_operator("box_nms", _rows(ANCHORS * 20, 20), topk=400, valid_thresh=0.01, overlap_thresh=0.45, id_index=0),
    box_nms_yolo_topk400=_operator("box_nms", _rows(10647, 80), topk=400, valid_thresh=0.01, overlap_thresh=0.45, id_index=0),
    box_nms_rpn_6000=_operator("box_nms", _rows(6000, 1), overlap_thresh=0.7),
    box_nms_1000=_operator("box_nms", _rows(1000, 20), id_index=0),
    box_nms_100=_operator("box_nms", _rows(100, 20), id_index=0),
    box_iou=_operator("box_iou", lambda rng: [_clusters(rng, ANCHORS)[0], _clusters(rng, 20)[0]]),
    bipartite_matching=_operator("bipartite_matching", lambda rng: [rng.rand(1, ANCHORS, 20)], threshold=1e-3),
    proposal=_operator("Proposal", _feature(1), **_PROPOSAL),
    multi_proposal=_operator("MultiProposal", _feature(2), **_PROPOSAL),
    roi_pooling=_operator("ROIPooling", _regions(256, 300), **_BINS),
    roi_pooling_train=_operator("ROIPooling", _regions(256, 128), gradient=True, **_BINS),
    roi_align=_operator("ROIAlign", _regions(256, 300), sample_ratio=2, **_BINS),
    roi_align_adaptive=_operator("ROIAlign", _regions(256, 300), **_BINS),
    roi_align_train=_operator("ROIAlign", _regions(256, 128), gradient=True, sample_ratio=2, **_BINS),
    psroi_pooling=_operator("PSROIPooling", _regions(8 * 49, 300), **_PARTS),
    deformable_psroi_pooling=_operator("DeformablePSROIPooling", _shifted_regions, part_size=7, sample_per_part=4, trans_std=0.1, **_PARTS),
    deformable_convolution=_operator("DeformableConvolution", _deformed(False), **_KERNEL),
    deformable_convolution_train=_operator("DeformableConvolution", _deformed(False), gradient=True, **_KERNEL),
    modulated_deformable_convolution=_operator("ModulatedDeformableConvolution", _deformed(True), **_KERNEL),
)
