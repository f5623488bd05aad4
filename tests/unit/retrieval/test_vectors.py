"""The cache survives crashes and other processes; the index compares by cosine."""

import subprocess
import sys
from multiprocessing import get_context

import numpy as np
import pytest

from chronofy_kg.retrieval.vectors import CachedEmbedder, EmbeddingCache, VectorIndex

MODEL, DIMS = "test-model", 8


class CountingEmbedder:
    """Gives each text a unit vector made from its characters, and counts what it was asked."""

    model, dimensions = MODEL, DIMS

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked.append(list(texts))
        return unit([text_seed(text) for text in texts])


def text_seed(text):
    return np.random.default_rng(list(text.encode())).normal(size=DIMS)


def unit(rows):
    rows = np.asarray(rows, dtype=np.float32).reshape(-1, DIMS)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def vectors_of(texts):
    return unit([text_seed(text) for text in texts])


def segments(folder):
    return sorted(folder.rglob("*.vec"))


def test_what_was_put_comes_back_after_opening_again(tmp_path):
    texts = [f"text {i}" for i in range(50)] + ["", "naïve", "a\ud800b"]
    cache = EmbeddingCache(tmp_path, MODEL, DIMS)
    cache.put(texts, vectors_of([text.encode("utf-8", "replace").decode() for text in texts]))
    again = EmbeddingCache(tmp_path, MODEL, DIMS)
    vectors, found = again.get([*texts[::-1], "unknown"])
    assert found.tolist() == [True] * 53 + [False]
    assert not vectors[-1].any()
    np.testing.assert_allclose(vectors[-2], vectors_of(["text 0"])[0], atol=1e-3)
    assert len(again) == 53


@pytest.mark.parametrize("lost", [1, 3, 30, 51])
def test_a_torn_tail_is_ignored_and_written_again(tmp_path, lost):
    texts = [f"text {i}" for i in range(4)]
    EmbeddingCache(tmp_path, MODEL, DIMS).put(texts, vectors_of(texts))
    (path,) = segments(tmp_path)
    record = 32 + 2 * DIMS + 4
    assert path.stat().st_size == 8 + 4 * record
    path.write_bytes(path.read_bytes()[:-lost])
    cache = EmbeddingCache(tmp_path, MODEL, DIMS)
    assert cache.get(texts)[1].tolist() == [True, True, True, False]
    cache.put(texts, vectors_of(texts))
    assert cache.get(texts)[1].all()
    np.testing.assert_allclose(
        EmbeddingCache(tmp_path, MODEL, DIMS).get(texts)[0], vectors_of(texts), atol=1e-3
    )


def test_a_write_that_failed_half_way_does_not_shift_what_follows(tmp_path):
    cache = EmbeddingCache(tmp_path, MODEL, DIMS)
    cache.put(["a"], vectors_of(["a"]))
    with segments(tmp_path)[0].open("ab") as stream:
        stream.write(b"half a record")
    cache.put(["b"], vectors_of(["b"]))
    cache.put(["c"], vectors_of(["c"]))
    for opened in (cache, EmbeddingCache(tmp_path, MODEL, DIMS)):
        vectors, found = opened.get(["a", "b", "c"])
        assert found.all()
        np.testing.assert_allclose(vectors, vectors_of(["a", "b", "c"]), atol=1e-3)


def test_a_damaged_record_is_skipped_and_its_neighbours_are_not(tmp_path):
    texts = [f"text {i}" for i in range(3)]
    EmbeddingCache(tmp_path, MODEL, DIMS).put(texts, vectors_of(texts))
    (path,) = segments(tmp_path)
    body = bytearray(path.read_bytes())
    body[8 + 52 + 40] ^= 0xFF
    path.write_bytes(bytes(body))
    assert EmbeddingCache(tmp_path, MODEL, DIMS).get(texts)[1].tolist() == [True, False, True]


def test_files_that_are_no_segments_are_left_alone(tmp_path):
    cache = EmbeddingCache(tmp_path, MODEL, DIMS)
    cache.put(["a"], vectors_of(["a"]))
    folder = segments(tmp_path)[0].parent
    (folder / "000001.vec").write_bytes(b"")
    (folder / "000002.vec").write_bytes(b"CKG")
    (folder / "000003.vec").write_bytes(b"something else entirely" * 20)
    again = EmbeddingCache(tmp_path, MODEL, DIMS)
    assert len(again) == 1
    again.put(["b"], vectors_of(["b"]))
    assert EmbeddingCache(tmp_path, MODEL, DIMS).get(["a", "b"])[1].all()


def test_two_open_caches_see_each_other(tmp_path):
    first, second = EmbeddingCache(tmp_path, MODEL, DIMS), EmbeddingCache(tmp_path, MODEL, DIMS)
    first.put(["a"], vectors_of(["a"]))
    second.put(["b"], vectors_of(["b"]))
    first.put(["c"], vectors_of(["c"]))
    assert first.get(["a", "b", "c"])[1].all()
    assert second.get(["a", "b", "c"])[1].all()
    assert len(segments(tmp_path)) == 2


WRITER = """
import sys
import numpy as np
from pathlib import Path
from chronofy_kg.retrieval.vectors import EmbeddingCache
cache = EmbeddingCache(Path(sys.argv[1]), "test-model", 8)
for i in range(40):
    cache.put([f"{sys.argv[2]} {i}", f"both {i}"], np.eye(8, dtype=np.float32)[[i % 8, 0]])
"""


def test_two_processes_write_at_once(tmp_path):
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name], stderr=subprocess.PIPE)
        for name in ("one", "two")
    ]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
    texts = [f"{name} {i}" for name in ("one", "two", "both") for i in range(40)]
    vectors, found = EmbeddingCache(tmp_path, MODEL, DIMS).get(texts)
    assert found.all()
    np.testing.assert_array_equal(vectors[:40].argmax(axis=1), np.arange(40) % 8)


def test_a_forked_process_writes_a_segment_of_its_own(tmp_path):
    cache = EmbeddingCache(tmp_path, MODEL, DIMS)
    cache.put(["parent"], vectors_of(["parent"]))
    child = get_context("fork").Process(target=cache.put, args=(["child"], vectors_of(["child"])))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert cache.get(["parent", "child"])[1].all()
    assert len(segments(tmp_path)) == 2


def test_models_and_sizes_do_not_mix(tmp_path):
    EmbeddingCache(tmp_path, MODEL, DIMS).put(["a"], vectors_of(["a"]))
    assert not EmbeddingCache(tmp_path, "other", DIMS).get(["a"])[1].any()
    assert not EmbeddingCache(tmp_path, MODEL, 4).get(["a"])[1].any()


def test_bad_vectors_are_refused(tmp_path):
    cache = EmbeddingCache(tmp_path, MODEL, DIMS)
    with pytest.raises(ValueError, match="NaN or infinity"):
        cache.put(["a"], np.full((1, DIMS), np.nan))
    with pytest.raises(ValueError, match="shape"):
        cache.put(["a", "b"], np.zeros((1, DIMS)))
    assert segments(tmp_path) == []


def test_each_distinct_text_is_embedded_once(tmp_path):
    inner = CountingEmbedder()
    embedder = CachedEmbedder(inner, EmbeddingCache(tmp_path, MODEL, DIMS), batch=2)
    texts = ["a", "b", "a", "c", "b"]
    assert not embedder.known(texts)[1].any()
    got = embedder.encode(texts)
    assert inner.asked == [["a", "b"], ["c"]]
    np.testing.assert_allclose(got, vectors_of(texts), atol=1e-3)
    np.testing.assert_array_equal(embedder.encode(texts), got)
    assert len(inner.asked) == 2
    assert embedder.encode([]).shape == (0, DIMS)
    assert (embedder.model, embedder.dimensions) == (MODEL, DIMS)


def test_top_is_that_of_a_plain_sort_across_blocks():
    rng = np.random.default_rng(3)
    stored = unit(rng.normal(size=(20_000, DIMS)))
    index = VectorIndex(DIMS)
    assert index.add(stored[:12_345]) == range(12_345)
    assert index.add(stored[12_345:]) == range(12_345, 20_000)
    queries = unit(rng.normal(size=(3, DIMS)))
    cosines, rows = index.top(queries, 5)
    plain = queries @ stored.astype(np.float16).astype(np.float32).T
    np.testing.assert_array_equal(rows, np.argsort(-plain, axis=1, kind="stable")[:, :5])
    np.testing.assert_allclose(cosines, np.take_along_axis(plain, rows, axis=1), atol=1e-6)
    keep = np.zeros(20_000, dtype=bool)
    keep[[7, 19_999]] = True
    assert sorted(index.top(queries, 5, keep)[1][0].tolist()) == [7, 19_999]


def test_every_float16_keeps_its_value():
    """Also the smallest, and both zeros: the index reads the bits itself."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = halves[np.abs(halves.astype(np.float32)) <= 1.0]
    index = VectorIndex(1)
    index.add(halves[:, None])
    np.testing.assert_array_equal(index.cosines(np.ones((1, 1)))[0], halves.astype(np.float32))


def test_an_empty_index_and_rows_that_are_not_ready():
    index = VectorIndex(DIMS)
    assert index.top(unit(np.ones(DIMS)), 3)[1].shape == (1, 0)
    index.add(np.zeros((2, DIMS)))
    assert index.cosines(unit(np.ones(DIMS))).tolist() == [[0.0, 0.0]]
    assert index.top(unit(np.ones(DIMS)), 1)[1].tolist() == [[0]]
    index.set(np.array([1]), unit(np.ones(DIMS)))
    cosines, rows = index.top(unit(np.ones(DIMS)), 2)
    assert rows.tolist() == [[1, 0]]
    np.testing.assert_allclose(cosines, [[1.0, 0.0]], atol=1e-3)
    with pytest.raises(ValueError, match="a row outside"):
        index.set(np.array([2]), unit(np.ones(DIMS)))
    with pytest.raises(ValueError, match="NaN"):
        index.add(np.full((1, DIMS), np.nan))
    with pytest.raises(ValueError, match="shape"):
        index.add(np.zeros((1, DIMS + 1)))
    with pytest.raises(ValueError, match="unit length"):
        index.add(np.full((1, DIMS), 70_000.0))
    assert len(index) == 2
