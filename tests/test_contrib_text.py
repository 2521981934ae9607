"""mx.contrib.text: counts, vocabularies, embeddings from files."""

from collections import Counter

import numpy as np
import pytest

import mxexec_torch as mx
from mxexec_torch.contrib import text


def test_tokens_are_counted_between_delimiters():
    assert text.utils.count_tokens_from_str(" A b \n a  b \n", to_lower=True) == Counter({"a": 2, "b": 2})
    assert text.utils.count_tokens_from_str("*x*y*", r"\*", counter_to_update=Counter("x")) == Counter({"x": 2, "y": 1})


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({}, ["<unk>", "c", "b", "a", "d"]),
        ({"min_freq": 2}, ["<unk>", "c", "b"]),
        ({"most_freq_count": 3}, ["<unk>", "c", "b", "a"]),
        ({"most_freq_count": 1, "reserved_tokens": ["<pad>", "c"]}, ["<unk>", "<pad>", "c", "b"]),
        ({"unknown_token": "b"}, ["b", "c", "a", "d"]),
    ],
)
def test_a_vocabulary_orders_by_frequency_then_token(settings, tokens):
    vocabulary = text.vocab.Vocabulary(Counter("abbcccd"), **settings)
    assert vocabulary.idx_to_token == tokens and vocabulary.to_indices(tokens) == list(range(len(tokens)))
    assert vocabulary.to_indices("nowhere") == 0 and vocabulary.to_tokens([1, 0]) == [tokens[1], tokens[0]]
    with pytest.raises(ValueError, match="99"):
        vocabulary.to_tokens(99)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "one.txt").write_text("header 3\na 1 2 3\nb 4 5 6\na 7 8 9\n")
    (tmp_path / "two.txt").write_text("b 10 20\n<unk> 30 40\n")
    return tmp_path


def test_vectors_come_from_files_and_serve_vocabularies(files):
    with pytest.warns(UserWarning, match="skipped"):
        one = text.embedding.CustomEmbedding(str(files / "one.txt"), init_unknown_vec=mx.nd.ones)
    assert one.idx_to_token == ["<unk>", "a", "b"] and one.vec_len == 3
    np.testing.assert_array_equal(one.get_vecs_by_tokens(["A", "b"], lower_case_backup=True).asnumpy(), [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(one.get_vecs_by_tokens("A").asnumpy(), [1, 1, 1])
    one.update_token_vectors("a", mx.nd.array([0, 0, 1]))
    with pytest.raises(ValueError, match="unknown"):
        one.update_token_vectors("A", mx.nd.array([0, 0, 1]))
    two = text.embedding.CustomEmbedding(str(files / "two.txt"))
    both = text.embedding.CompositeEmbedding(text.vocab.Vocabulary(Counter("ab")), [one, two])
    np.testing.assert_array_equal(both.idx_to_vec.asnumpy(), [[1, 1, 1, 30, 40], [0, 0, 1, 30, 40], [4, 5, 6, 10, 20]])


def test_pretrained_files_are_known_by_name():
    names = text.embedding.get_pretrained_file_names()
    assert "glove.6B.50d.txt" in names["glove"] and "wiki.simple.vec" in names["fasttext"]
    assert text.embedding.GloVe._get_download_file_name("glove.6B.50d.txt") == "glove.6B.zip"
    with pytest.raises(KeyError, match="nothing"):
        text.embedding.create("fasttext", pretrained_file_name="nothing.vec")
