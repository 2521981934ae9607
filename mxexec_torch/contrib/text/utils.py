"""Token counts of a text."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["count_tokens_from_str"]


def count_tokens_from_str(
    source_str: str, token_delim: str = " ", seq_delim: str = "\n", to_lower: bool = False, counter_to_update: Counter[str] | None = None
) -> Counter[str]:
    """How often each token occurs. The delimiters are regular expressions; empty tokens do not count.

    counter_to_update: a counter to add to (and to return) instead of a new one.
    """
    tokens = [token for token in re.split(f"{token_delim}|{seq_delim}", source_str) if token]
    counter: Counter[str] = Counter() if counter_to_update is None else counter_to_update
    counter.update([token.lower() for token in tokens] if to_lower else tokens)
    return counter
