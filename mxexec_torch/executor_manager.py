"""mx.executor_manager: helpers that split batches over devices. Old packages import the underscored names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__: list[str] = []


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Slices of a batch for each device, in proportion to the work loads; the last device takes the rest.

    Errors: ValueError when a device would get nothing.
    """
    total = sum(work_load_list)
    counts = [round(load * batch_size / total) for load in work_load_list]
    counts[-1] += batch_size - sum(counts)
    slices, end = [], 0
    for count in counts:
        begin = int(min(end, batch_size))
        end = int(min(begin + count, batch_size))
        if begin >= end:
            raise ValueError("Too many slices. Some splits are empty.")
        slices.append(slice(begin, end))
    return slices


def _check_arguments(symbol: Any) -> None:
    """Errors: ValueError when two arguments or two auxiliary states share a name."""
    for what, names in (("argument", symbol.list_arguments()), ("auxiliary param", symbol.list_auxiliary_states())):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise ValueError(
                    f'Find duplicated {what} name "{name}", please make the weight name non-duplicated(using name arguments), '
                    f"{what}s are {names}"
                )
            seen.add(name)


def _load_general(data: Sequence[Any], targets: Sequence[Any]) -> None:
    """Copies each array into its targets: one array, or (slice of the batch, array) per device."""
    for source, target in zip(data, targets, strict=False):
        if isinstance(target, (list, tuple)):
            for part, destination in target:
                source[part].copyto(destination)
        else:
            source.copyto(target)


def _load_data(batch: Any, targets: Sequence[Any]) -> None:
    """Copies a batch's data into the bound arrays."""
    _load_general(batch.data, targets)


def _load_label(batch: Any, targets: Sequence[Any]) -> None:
    """Copies a batch's labels into the bound arrays."""
    _load_general(batch.label, targets)
