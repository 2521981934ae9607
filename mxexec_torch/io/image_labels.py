"""Labels of image records: from the record itself or from a .lst file (number, labels, path; white space between)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import FileFormatError, MXNetError
from ..recordio import IRHeader, local_path

__all__ = ["LabelList", "stored_label"]

Label = np.ndarray[Any, Any]


class LabelList:
    """The labels of a .lst file by image number. width: how many labels a line has, None for all up to the path."""

    def __init__(self, path: str, width: int | None) -> None:
        self._labels: dict[int, Label] = {}
        try:
            with open(local_path(path), encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        self._add(line.split(), width, f"{path}, line {number}")
        except OSError as error:
            raise MXNetError(f"cannot open the image list {path}: {error.strerror}") from None

    def _add(self, fields: list[str], width: int | None, where: str) -> None:
        texts = fields[1:-1] if width is None else fields[1 : width + 1]
        try:
            label = np.array([float(text) for text in texts], np.float32)
            self._labels[int(fields[0])] = label
        except ValueError:
            raise FileFormatError(f"Bad ImageList format: {where}: expected a number, labels and a path") from None
        if not texts or (width is not None and len(texts) != width):
            raise FileFormatError(f"Bad ImageList format: {where}: expected {width or 'some'} labels, got {len(texts)}")

    def find(self, number: int) -> Label:
        """The labels of an image. Errors: MXNetError when it is not in the list."""
        if number not in self._labels:
            raise MXNetError(f"fail to find imagelabel for id {number}")
        return self._labels[number]

    def most(self) -> int:
        """The largest number of labels of any image."""
        return max(map(len, self._labels.values()), default=0)


def stored_label(header: IRHeader, width: int) -> Label:
    """The `width` labels in a record's header. Errors: MXNetError when it has another number of them."""
    label = np.atleast_1d(np.asarray(header.label, np.float32))
    if len(label) != width:
        if header.flag > 0:
            raise MXNetError(f"rec file provide {len(label)}-dimensional label but label_width is set to {width}")
        raise MXNetError("label_width must be 1 unless an imglist is provided or the rec file is packed with multi dimensional label")
    return label
