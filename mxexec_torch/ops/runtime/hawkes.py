"""Log likelihood of marked Hawkes processes."""

from __future__ import annotations

import torch

from .leaf import leaf

__all__ = ["hawkes_log_likelihood"]

Tensor = torch.Tensor


@leaf
def hawkes_log_likelihood(
    rate: Tensor, alpha: Tensor, beta: Tensor, state: Tensor, lags: Tensor, marks: Tensor, valid_length: Tensor, max_time: Tensor
) -> tuple[Tensor, Tensor]:
    """(log likelihood of each sequence, state after it); gradients go to rate, alpha and beta."""
    if rate.is_meta:
        return rate.new_empty((rate.shape[0],)), torch.empty_like(state)
    memory, last = state.detach().clone(), torch.zeros_like(rate)
    total, now = rate.new_zeros(rate.shape[0]), rate.new_zeros(rate.shape[0])
    lags, valid, until = lags.detach(), valid_length.detach(), max_time.detach()
    for step in range(lags.shape[1]):
        active = step < valid
        mark = marks[:, step].long().unsqueeze(1)
        now = now + torch.where(active, lags[:, step], torch.zeros_like(now))
        waited = now - last.gather(1, mark).squeeze(1)
        before = memory.gather(1, mark).squeeze(1)
        a, b, mu = alpha[mark.squeeze(1)], beta[mark.squeeze(1)], rate.gather(1, mark).squeeze(1)
        decay = (-b * waited).exp()
        gained = (mu + a * b * before * decay).log() - (mu * waited + a * before * (1 - decay))
        total = total + torch.where(active, gained, torch.zeros_like(gained))
        memory = memory.scatter(1, mark, torch.where(active, 1 + before * decay, before).unsqueeze(1))
        last = last.scatter(1, mark, torch.where(active, now, last.gather(1, mark).squeeze(1)).unsqueeze(1))
    rest = until.unsqueeze(1) - last
    decay = (-beta * rest).exp()
    remaining = rate * rest + alpha * memory * (1 - decay)
    return total - remaining.sum(1), (decay * memory).detach()
