"""Whether the backward pass that runs now is one of training (`backward(is_train=)`, `autograd.backward(train_mode=)`)."""

from __future__ import annotations

__all__ = ["backward_is_training", "backward_mode"]

_training = True


def backward_is_training() -> bool:
    """True unless the running backward pass was asked for inference gradients."""
    return _training


class backward_mode:  # noqa: N801 - a context manager, named like a function
    """`with backward_mode(train):` sets the mode. Process-wide, as autograd may run nodes on threads of its own."""

    def __init__(self, train: bool) -> None:
        self._train, self._previous = train, True

    def __enter__(self) -> None:
        global _training
        self._previous, _training = _training, self._train

    def __exit__(self, *exc: object) -> None:
        global _training
        _training = self._previous
