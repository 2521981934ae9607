"""Token embeddings: vectors of tokens from files, GloVe's and fastText's among them, looked up by token."""

from __future__ import annotations

import logging
import os
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ... import ndarray as nd
from ...base import data_dir
from ...data import data_text
from ...factories import get_create_func, get_register_func, get_registry
from ...ndarray import NDArray
from .vocab import UNKNOWN_INDEX, Vocabulary

__all__ = ["CompositeEmbedding", "CustomEmbedding", "FastText", "GloVe", "create", "get_pretrained_file_names", "register"]

_SERVER = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"


def register(embedding_cls: type) -> type:
    """Class decorator: makes a subclass of `_TokenEmbedding` known to `create` under its name."""
    registered: type = get_register_func(_TokenEmbedding, "token embedding")(embedding_cls)
    return registered


def create(embedding_name: str, **kwargs: Any) -> Any:
    """A registered embedding by name (case does not matter), made from the keywords."""
    return get_create_func(_TokenEmbedding, "token embedding")(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> dict[str, list[str]] | list[str]:
    """The files that an embedding can be made from; without a name those of all, by embedding. Errors: KeyError for an unknown name."""
    known: dict[str, Any] = get_registry(_TokenEmbedding)
    if embedding_name is None:
        return {name: list(cls.pretrained_file_name_sha1) for name, cls in known.items()}
    if embedding_name not in known:
        raise KeyError(f"Cannot find `embedding_name` {embedding_name}: known are {', '.join(known)}")
    return list(known[embedding_name].pretrained_file_name_sha1)


@lru_cache(maxsize=1)
def _hashes() -> dict[tuple[str, str], dict[str, str]]:
    """SHA-1 by file of each (embedding, 'archive' or 'file')."""
    table: dict[tuple[str, str], dict[str, str]] = {}
    for line in data_text("text_embeddings.tsv").splitlines():
        if not line.startswith("#"):
            embedding, kind, name, sha1 = line.split("\t")
            table.setdefault((embedding, kind), {})[name] = sha1
    return table


class _TokenEmbedding(Vocabulary):
    """A vocabulary with a vector for each token; the base of all embeddings.

    The vector of the unknown token comes from the file where that holds the token, else from `init_unknown_vec`.
    A subclass that downloads has `pretrained_file_name_sha1` and, where its files come in archives, `pretrained_archive_name_sha1`.
    """

    pretrained_file_name_sha1: ClassVar[dict[str, str]]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._vec_len = 0
        self._idx_to_vec: Any = None

    @property
    def vec_len(self) -> int:
        """The number of elements of a vector."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> Any:
        """(number of tokens, vec_len) NDArray: the vectors in the order of the tokens."""
        return self._idx_to_vec

    # -- files ------------------------------------------------------------------------------------------------------------
    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        return pretrained_file_name

    @classmethod
    def _get_pretrained_file_url(cls, pretrained_file_name: str) -> str:
        server = os.environ.get("MXNET_GLUON_REPO", _SERVER)
        return f"{server}gluon/embeddings/{cls.__name__.lower()}/{cls._get_download_file_name(pretrained_file_name)}"

    @classmethod
    def _get_pretrained_file(cls, embedding_root: str, pretrained_file_name: str) -> str:
        """The path of a pretrained file, downloaded and unpacked unless it is there with the right SHA-1."""
        from ...gluon.utils import check_sha1, download

        folder = os.path.join(os.path.expanduser(embedding_root), cls.__name__.lower())
        path = os.path.join(folder, pretrained_file_name)
        sha1 = cls.pretrained_file_name_sha1[pretrained_file_name]
        if os.path.exists(path) and check_sha1(path, sha1):
            return path
        url = cls._get_pretrained_file_url(pretrained_file_name)
        name = os.path.basename(url)
        archives: dict[str, str] | None = getattr(cls, "pretrained_archive_name_sha1", None)
        fetched = download(url, os.path.join(folder, name), sha1_hash=sha1 if archives is None else archives[name])
        if name.endswith(".zip"):
            with zipfile.ZipFile(fetched) as archive:
                archive.extractall(folder)
        elif name.endswith(".gz"):
            with tarfile.open(fetched, "r:gz") as packed:
                packed.extractall(folder, filter="data")
        return path

    @classmethod
    def _check_pretrained_file_names(cls, pretrained_file_name: str) -> None:
        known = cls.pretrained_file_name_sha1
        if pretrained_file_name not in known:
            name = cls.__name__.lower()
            raise KeyError(f"Cannot find pretrained file {pretrained_file_name} for token embedding {name}. Valid files: {', '.join(known)}")

    def _load_embedding(self, pretrained_file_path: str, elem_delim: str, init_unknown_vec: Callable[..., Any], encoding: str = "utf8") -> None:
        """Reads lines of a token and its numbers. The first line of a token counts; a line with one number is a header.

        Errors: ValueError for a path that is no file, AssertionError for a line without numbers or of another length.
        """
        path = os.path.expanduser(pretrained_file_path)
        if not os.path.isfile(path):
            raise ValueError(f"`pretrained_file_path` must be a valid path to the pre-trained token embedding file, not {pretrained_file_path!r}")
        logging.info("Loading pre-trained token embedding vectors from %s", path)
        vectors: list[np.ndarray[Any, Any]] = []
        unknown = None
        seen: set[str] = set()
        with open(path, encoding=encoding) as file:
            for number, line in enumerate(file, 1):
                token, *texts = line.rstrip().split(elem_delim)
                assert texts, f"{path}, line {number}: a token without numbers"
                vector = np.array(texts, dtype=np.float32)
                if token == self.unknown_token and unknown is None:
                    unknown = vector
                    seen.add(token)
                elif token in seen:
                    warnings.warn(f"{path}, line {number}: token {token} is there already, skipped", stacklevel=3)
                elif len(vector) == 1:
                    warnings.warn(f"{path}, line {number}: token {token} with one number, likely a header, skipped", stacklevel=3)
                else:
                    length = len(vectors[0]) if vectors else len(vector)
                    assert len(vector) == length, f"{path}, line {number}: token {token} has {len(vector)} numbers, those before have {length}"
                    vectors.append(vector)
                    self._token_to_idx[token] = len(self._idx_to_token)
                    self._idx_to_token.append(token)
                    seen.add(token)
        self._vec_len = len(vectors[0])
        self._idx_to_vec = nd.array(np.stack([np.zeros(self._vec_len, np.float32), *vectors]))
        self._idx_to_vec[UNKNOWN_INDEX] = init_unknown_vec(shape=self._vec_len) if unknown is None else nd.array(unknown)

    # -- vocabularies -----------------------------------------------------------------------------------------------------
    def _index_tokens_from_vocabulary(self, vocabulary: Vocabulary) -> None:
        self._token_to_idx = dict(vocabulary.token_to_idx)
        self._idx_to_token = list(vocabulary.idx_to_token)
        self._unknown_token = vocabulary.unknown_token
        self._reserved_tokens = None if vocabulary.reserved_tokens is None else list(vocabulary.reserved_tokens)

    def _set_idx_to_vec_by_embeddings(self, token_embeddings: Sequence[_TokenEmbedding], vocab_len: int, vocab_idx_to_token: list[Any]) -> None:
        """Takes the vectors of a vocabulary's tokens from embeddings, side by side."""
        columns = []
        for embedding in token_embeddings:
            unknown = embedding.idx_to_vec[:1]  # row 0 whatever the vocabulary calls its unknown token
            known = vocab_idx_to_token[1:vocab_len]
            columns.append(nd.concat(unknown, embedding.get_vecs_by_tokens(known), dim=0) if known else unknown)
        self._idx_to_vec = nd.concat(*columns, dim=1)
        self._vec_len = self._idx_to_vec.shape[1]

    def _build_embedding_for_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        if vocabulary is None:
            return
        assert isinstance(vocabulary, Vocabulary), "The argument `vocabulary` must be an instance of mxnet.contrib.text.vocab.Vocabulary."
        self._set_idx_to_vec_by_embeddings([self], len(vocabulary), vocabulary.idx_to_token)
        self._index_tokens_from_vocabulary(vocabulary)

    # -- vectors ----------------------------------------------------------------------------------------------------------
    def get_vecs_by_tokens(self, tokens: Any, lower_case_backup: bool = False) -> Any:
        """The vector (vec_len,) of a token, or (n, vec_len) for a list; unknown tokens have the unknown token's.

        lower_case_backup: a token that is not there is looked up in lower case as well.
        """
        known = self._token_to_idx
        wanted = tokens if isinstance(tokens, list) else [tokens]
        backup = [known.get(t.lower(), UNKNOWN_INDEX) for t in wanted] if lower_case_backup else [UNKNOWN_INDEX] * len(wanted)
        rows = self._idx_to_vec.take(nd.array([known.get(t, b) for t, b in zip(wanted, backup, strict=True)], dtype="int64"))
        return rows if isinstance(tokens, list) else rows[0]

    def update_token_vectors(self, tokens: Any, new_vectors: Any) -> None:
        """Overwrites the vectors of tokens: (vec_len,) or (1, vec_len) for one token, (n, vec_len) for a list.

        Errors: AssertionError for another shape; ValueError for an unknown token (the unknown token itself can be named).
        """
        assert self._idx_to_vec is not None, "The property `idx_to_vec` has not been properly set."
        names = tokens if isinstance(tokens, list) else [tokens]
        assert isinstance(new_vectors, NDArray), "`new_vectors` must be an NDArray."
        rows = new_vectors.expand_dims(0) if new_vectors.ndim == 1 and len(names) == 1 else new_vectors
        assert rows.shape == (len(names), self._vec_len), f"`new_vectors` must have shape {(len(names), self._vec_len)}, not {new_vectors.shape}"
        for name in names:
            if name not in self._token_to_idx:
                raise ValueError(f"Token {name} is unknown. The vector of all unknown tokens is that of {self._idx_to_token[UNKNOWN_INDEX]}")
        self._idx_to_vec[nd.array([self._token_to_idx[name] for name in names], dtype="int64")] = rows


class _Pretrained(_TokenEmbedding):
    """An embedding that is downloaded by file name."""

    def __init__(
        self, pretrained_file_name: str, embedding_root: str | None, init_unknown_vec: Callable[..., Any], vocabulary: Vocabulary | None, **kwargs: Any
    ) -> None:
        self._check_pretrained_file_names(pretrained_file_name)
        super().__init__(**kwargs)
        root = os.path.join(data_dir(), "embeddings") if embedding_root is None else embedding_root
        self._load_embedding(self._get_pretrained_file(root, pretrained_file_name), " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


@register
class GloVe(_Pretrained):
    """Vectors of the GloVe project (nlp.stanford.edu/projects/glove), downloaded when they are not there.

    embedding_root: where the files are kept (default: `embeddings` below MXNET_HOME). vocabulary: the tokens to take, default all.
    """

    pretrained_archive_name_sha1 = _hashes()["glove", "archive"]
    pretrained_file_name_sha1 = _hashes()["glove", "file"]

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        part = pretrained_file_name.split(".")[1]
        return next(archive for archive in cls.pretrained_archive_name_sha1 if archive.split(".")[1] == part)

    def __init__(
        self, pretrained_file_name: str = "glove.840B.300d.txt", embedding_root: str | None = None,
        init_unknown_vec: Callable[..., Any] = nd.zeros, vocabulary: Vocabulary | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(pretrained_file_name, embedding_root, init_unknown_vec, vocabulary, **kwargs)


@register
class FastText(_Pretrained):
    """Vectors of the fastText project (fasttext.cc), downloaded when they are not there.

    embedding_root: where the files are kept (default: `embeddings` below MXNET_HOME). vocabulary: the tokens to take, default all.
    """

    pretrained_archive_name_sha1 = _hashes()["fasttext", "archive"]
    pretrained_file_name_sha1 = _hashes()["fasttext", "file"]

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        return pretrained_file_name.rpartition(".")[0] + ".zip"

    def __init__(
        self, pretrained_file_name: str = "wiki.simple.vec", embedding_root: str | None = None, init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: Vocabulary | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(pretrained_file_name, embedding_root, init_unknown_vec, vocabulary, **kwargs)


class CustomEmbedding(_TokenEmbedding):
    """Vectors from a file of one's own: a token and its numbers a line, separated by `elem_delim`."""

    def __init__(
        self, pretrained_file_path: str, elem_delim: str = " ", encoding: str = "utf8", init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: Vocabulary | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """The tokens of a vocabulary with the vectors of one or several embeddings side by side."""

    def __init__(self, vocabulary: Vocabulary, token_embeddings: Any) -> None:
        assert isinstance(vocabulary, Vocabulary), "The argument `vocabulary` must be an instance of mxnet.contrib.text.vocab.Vocabulary."
        embeddings = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        for embedding in embeddings:
            assert isinstance(embedding, _TokenEmbedding), "The argument `token_embeddings` must hold instances of token embeddings."
        super().__init__()
        self._index_tokens_from_vocabulary(vocabulary)
        self._set_idx_to_vec_by_embeddings(embeddings, len(self), self.idx_to_token)
