"""Connectionist temporal classification."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .leaf import leaf

__all__ = ["ctc_cost"]

Tensor = torch.Tensor


@leaf
def ctc_cost(data: Tensor, label: Tensor, data_lengths: Tensor | None, label_lengths: Tensor | None, blank: int, padding: int) -> Tensor:
    """Negative log likelihood of each label sequence; 0, with gradient 0, where the data are too short for it.

    label_lengths None: a row of labels ends at the first `padding`.
    """
    steps, batch, _ = data.shape
    if data.is_meta:
        return data.new_empty((batch,))
    target = label.long()
    sizes = (target != padding).long().cumprod(1).sum(1) if label_lengths is None else label_lengths.long()
    wide = data.float() if data.dtype in (torch.float16, torch.bfloat16) else data
    if data_lengths is None:
        lengths = torch.full_like(sizes, steps)
    else:  # what lies past a sequence's end has gradient 0, whatever it holds
        lengths = data_lengths.long()
        inside = torch.arange(steps, device=data.device).unsqueeze(1) < lengths
        wide = torch.where(inside.unsqueeze(2), wide, torch.zeros_like(wide))
    cost = F.ctc_loss(wide.log_softmax(2), target.clamp(min=0), lengths, sizes, blank, "none", True)
    return cost.to(data.dtype)
