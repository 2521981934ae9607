"""Vocabularies: tokens by index and indices by token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

__all__ = ["UNKNOWN_INDEX", "Vocabulary"]

UNKNOWN_INDEX = 0


class Vocabulary:
    """Indices of tokens: 0 for whatever is unknown, then the reserved tokens, then those of a counter, frequent ones first.

    most_freq_count: at most so many tokens of the counter (the number of reserved tokens among them does not matter). min_freq: rarer
    tokens are left out. Equal frequencies are ordered by token. Tokens are any hashable objects of one type.
    Errors: AssertionError for min_freq below 1, reserved tokens that repeat or hold the unknown token, a counter that is no Counter.
    """

    def __init__(
        self, counter: Counter[Any] | None = None, most_freq_count: int | None = None, min_freq: int = 1, unknown_token: Hashable = "<unk>",
        reserved_tokens: list[Any] | None = None,
    ) -> None:  # fmt: skip
        assert min_freq > 0, "`min_freq` must be set to a positive value."
        reserved = [] if reserved_tokens is None else list(reserved_tokens)
        assert unknown_token not in reserved, "`reserved_token` cannot contain `unknown_token`."
        assert len(set(reserved)) == len(reserved), "`reserved_tokens` cannot contain duplicate reserved tokens."
        self._unknown_token: Any = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else reserved
        self._idx_to_token: list[Any] = [unknown_token, *reserved]
        if counter is not None:
            assert isinstance(counter, Counter), "`counter` must be an instance of collections.Counter."
            self._idx_to_token.extend(_frequent(counter, set(self._idx_to_token), most_freq_count, min_freq))
        self._token_to_idx: dict[Any, int] = {token: index for index, token in enumerate(self._idx_to_token)}

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """The index of each token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """The tokens in the order of their indices."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Any:
        """What stands for all unknown tokens, at index 0."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        """The tokens that are indexed whatever the counter holds."""
        return self._reserved_tokens

    def to_indices(self, tokens: Any) -> Any:
        """The index of a token, or a list of indices for a list of tokens; unknown tokens have index 0."""
        if isinstance(tokens, list):
            return [self._token_to_idx.get(token, UNKNOWN_INDEX) for token in tokens]
        return self._token_to_idx.get(tokens, UNKNOWN_INDEX)

    def to_tokens(self, indices: Any) -> Any:
        """The token at an index, or a list of tokens for a list of indices. Errors: ValueError for an index that is not in use."""
        if not isinstance(indices, list):
            return self._token(indices)
        return [self._token(index) for index in indices]

    def _token(self, index: Any) -> Any:
        if not isinstance(index, int) or index >= len(self._idx_to_token):
            raise ValueError(f"Token index {index} in the provided `indices` is invalid.")
        return self._idx_to_token[index]


def _frequent(counter: Counter[Any], taken: set[Any], most: int | None, least_often: int) -> list[Any]:
    """The counter's tokens by falling frequency, without those that have an index already."""
    ordered = sorted(counter.items(), key=lambda item: item[0])
    ordered.sort(key=lambda item: item[1], reverse=True)
    found = [token for token, count in ordered if count >= least_often and token not in taken]
    return found[:most]
