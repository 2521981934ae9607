"""`mxexec-torch im2rec`: image lists (.lst) from a folder, and records (.rec, .idx) from image lists, with MXNet's tools/im2rec.py's options.

Images are read and encoded by several threads, in order; the progress is shown on standard error.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from . import recordio
from .errors import FileFormatError, MXNetError

__all__ = ["Item", "add_arguments", "list_images", "main", "read_list", "write_lists", "write_records"]

_ENDINGS = (".jpeg", ".jpg", ".png")
_SEED = 100  # the order of a shuffled list is the same in every run
_QUEUE = 4  # images in work for each thread


class Item(NamedTuple):
    """A line of a list: the image's number, its labels and its path below the root."""

    number: int
    labels: list[float]
    path: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    switch = argparse.BooleanOptionalAction
    parser.add_argument("prefix", help="prefix of the .lst files to write, or of those to read and of the .rec and .idx files to write")
    parser.add_argument("root", help="the folder of the images")
    lists = parser.add_argument_group("making lists")
    lists.add_argument("--list", action="store_true", help="make image lists, not records")
    lists.add_argument("--exts", nargs="+", default=list(_ENDINGS), help="endings of image files")
    lists.add_argument("--chunks", type=int, default=1, help="number of lists")
    lists.add_argument("--train-ratio", type=float, default=1.0, help="share of the images for training")
    lists.add_argument("--test-ratio", type=float, default=0.0, help="share of the images for testing; the rest is for validation")
    lists.add_argument("--recursive", action="store_true", help="search the folders below root too; each folder is a label")
    lists.add_argument("--shuffle", action=switch, default=True, help="random order")
    records = parser.add_argument_group("making records")
    records.add_argument("--pass-through", action="store_true", help="store the files as they are")
    records.add_argument("--resize", type=int, default=0, help="resize the shorter side; 0: keep the size")
    records.add_argument("--center-crop", action="store_true", help="cut a square from the middle")
    records.add_argument("--quality", type=int, default=95, help="1-100 for JPEG, the compression 1-9 for PNG")
    records.add_argument("--num-thread", type=int, default=1, help="threads that read and encode")
    records.add_argument("--color", type=int, default=1, choices=[-1, 0, 1], help="1 colour, 0 grey, -1 as in the file (with alpha)")
    records.add_argument("--encoding", default=".jpg", choices=[".jpg", ".png"], help="how the images are stored")
    records.add_argument("--pack-label", action="store_true", help="store all labels of a line, not only the first")


def list_images(root: str, recursive: bool, endings: Iterable[str]) -> Iterator[Item]:
    """The images below a folder. Recursive: folders are numbered in the order in which they come, the number is the label; else it is 0."""
    wanted, found = {e.lower() for e in endings}, 0
    classes: dict[str, int] = {}
    for folder, below, files in os.walk(root, followlinks=True):
        below.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.path.splitext(name)[1].lower() in wanted:
                label = classes.setdefault(folder, len(classes)) if recursive else 0
                yield Item(found, [float(label)], os.path.relpath(path, root))
                found += 1
        if not recursive:
            break
    for folder, label in sorted(classes.items(), key=lambda entry: entry[1]):
        print(os.path.relpath(folder, root), label)


def write_lists(prefix: str, items: Sequence[Item], chunks: int, train: float, test: float) -> list[str]:
    """Writes prefix.lst, or for several chunks prefix_0.lst, ...; with shares below 1 _train, _test and _val each. Returns the names."""
    written = []
    size = math.ceil(len(items) / chunks)
    for chunk in range(chunks):
        part = items[chunk * size : (chunk + 1) * size]
        stem = f"{prefix}_{chunk}" if chunks > 1 else prefix
        ends = int(size * test), int(size * test) + int(size * train)
        pieces = {"_test": part[: ends[0]], "_train": part[ends[0] : ends[1]], "_val": part[ends[1] :]}
        if train == 1.0:
            pieces = {"": part}
        for name, piece in pieces.items():
            if name == "_test" and not test or name == "_val" and train + test >= 1.0:
                continue
            written.append(f"{stem}{name}.lst")
            with open(written[-1], "w", encoding="utf-8") as file:
                file.writelines(f"{i.number}\t" + "".join(f"{label:f}\t" for label in i.labels) + f"{i.path}\n" for i in piece)
    return written


def read_list(path: str) -> list[Item]:
    """The lines of a .lst file. Errors: FileFormatError naming the line."""
    items = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = [field.strip() for field in line.strip().split("\t")]
            if fields == [""]:
                continue
            try:
                items.append(Item(int(fields[0]), [float(x) for x in fields[1:-1]], fields[-1]))
            except ValueError:
                raise FileFormatError(f"{path}, line {number}: expected a number, labels and a path with tabs between, got {line!r}") from None
            if len(fields) < 3:
                raise FileFormatError(f"{path}, line {number}: expected a number, one or more labels and a path, got {line!r}")
    return items


def _encoded(item: Item, options: Any) -> bytes:
    """The record of an image."""
    from .io.image_augment import resized
    from .io.image_codec import decode_stored

    label: Any = item.labels if options.pack_label and len(item.labels) > 1 else item.labels[0]
    header = recordio.IRHeader(0, label, item.number, 0)
    with open(os.path.join(options.root, item.path), "rb") as file:
        content = file.read()
    if options.pass_through:
        return recordio.pack(header, content)
    image = decode_stored(content, options.color)
    h, w = image.shape[:2]
    if options.center_crop and h != w:
        side, y, x = min(h, w), (h - w) // 2 if h > w else 0, (w - h) // 2 if w > h else 0
        image = image[y : y + side, x : x + side]
        h = w = side
    if options.resize:
        new_w, new_h = (options.resize, h * options.resize // w) if h > w else (w * options.resize // h, options.resize)
        plain = image.ndim == 2
        image = resized(image[:, :, None] if plain else image, new_w, new_h, 1)
        image = image[:, :, 0] if plain else image
    return recordio.pack_img(header, image, quality=options.quality, img_fmt=options.encoding)


def _in_order(items: Sequence[Item], options: Any) -> Iterator[tuple[Item, Future[bytes]]]:
    """The items with their records, worked on by threads a few items ahead."""
    with ThreadPoolExecutor(options.num_thread) as pool:
        waiting: deque[tuple[Item, Future[bytes]]] = deque()
        for item in items:
            waiting.append((item, pool.submit(_encoded, item, options)))
            if len(waiting) >= _QUEUE * options.num_thread:
                yield waiting.popleft()
        yield from waiting


def write_records(list_path: str, options: Any) -> int:
    """Writes the .rec and .idx files beside a list; returns how many images could not be read, which are named and left out."""
    items = read_list(list_path)
    stem = os.path.splitext(list_path)[0]
    writer = recordio.MXIndexedRecordIO(f"{stem}.idx", f"{stem}.rec", "w")
    start = shown = time.monotonic()
    failed = 0
    for done, (item, record) in enumerate(_in_order(items, options), 1):
        try:
            writer.write_idx(item.number, record.result())
        except (MXNetError, OSError, ValueError) as error:
            failed += 1
            print(f"im2rec: {item.path} is left out: {error}", file=sys.stderr)
        now = time.monotonic()
        if now - shown > 1 or done == len(items):
            shown = now
            print(f"\r{stem}.rec: {done} of {len(items)} images, {done / max(now - start, 1e-9):.0f}/s", end="", file=sys.stderr, flush=True)
    writer.close()
    print(file=sys.stderr)
    return failed


def main(options: argparse.Namespace) -> int:
    """The command; returns the exit status."""
    prefix = os.path.abspath(options.prefix)
    if options.num_thread < 1 or options.chunks < 1:
        raise ValueError("--num-thread and --chunks must be 1 or more")
    if not os.path.isdir(options.root):
        raise ValueError(f"{options.root}: no such folder of images")
    if options.list:
        items = list(list_images(options.root, options.recursive, options.exts))
        if not items:
            deeper = "" if options.recursive else "; --recursive searches the folders below it too"
            raise ValueError(f"{options.root}: no images that end in {' '.join(options.exts)}{deeper}")
        if options.shuffle:
            random.Random(_SEED).shuffle(items)
        for path in write_lists(prefix, items, options.chunks, options.train_ratio, options.test_ratio):
            print(f"wrote {path}")
        return 0
    folder = prefix if os.path.isdir(prefix) else os.path.dirname(prefix)
    start = "" if os.path.isdir(prefix) else os.path.basename(prefix)
    lists = sorted(name for name in os.listdir(folder) if name.startswith(start) and name.endswith(".lst"))
    if not lists:
        raise ValueError(f"no list {prefix}*.lst; make one with --list")
    return 1 if sum(write_records(os.path.join(folder, name), options) for name in lists) else 0
