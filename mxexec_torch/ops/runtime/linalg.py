"""Factorizations with MXNet's gradient: the symmetric eigendecomposition."""

from __future__ import annotations

from typing import Any

import torch

from .leaf import leaf

__all__ = ["symmetric_eigen"]


@leaf
def symmetric_eigen(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(U, L) with a = U^T diag(L) U: eigenvectors in rows, the entry of largest magnitude positive, eigenvalues ascending."""
    vectors, values = _SymmetricEigen.apply(a)
    return vectors, values


class _SymmetricEigen(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, columns = torch.linalg.eigh(a)
        rows = columns.mT
        largest = rows.gather(-1, rows.abs().argmax(-1, keepdim=True))
        rows = torch.where(largest < 0, -rows, rows)
        ctx.save_for_backward(rows, values)
        return rows, values

    @staticmethod
    def backward(ctx: Any, grad_rows: torch.Tensor, grad_values: torch.Tensor) -> torch.Tensor:
        # U^T Y U with Y_ij = (X_ij - X_ji) / (2 (L_i - L_j)) for i > j, mirrored, and the eigenvalues' gradient on the diagonal;
        # X = dU U^T. Equal eigenvalues divide by a tiny number, as in MXNet.
        rows, values = ctx.saved_tensors
        x = torch.matmul(grad_rows, rows.mT)
        gap = (values.unsqueeze(-1) - values.unsqueeze(-2)).clamp(min=1e-30 if values.dtype == torch.float32 else 1e-100)
        lower = ((x - x.mT) / (2 * gap)).tril(-1)
        y = lower + lower.mT + torch.diag_embed(grad_values)
        return torch.matmul(torch.matmul(rows.mT, y), rows)
