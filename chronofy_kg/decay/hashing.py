"""A name for the rows that a fit rests on: the same rows in another order have the same one."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["hash_rows"]


def hash_rows(*columns: NDArray[Any], ordered: bool = False) -> str:
    """Hash of rows given as numeric columns of one length, whatever the order of the rows.

    Args:
        columns: int, bool or float arrays.
        ordered: the rows are sorted already (by the last column first), which spares the sorting.

    Returns:
        32 hexadecimal digits (BLAKE2b).

    >>> hash_rows(np.array([1, 2]), np.array([0.5, 0.0])) == hash_rows(np.array([2, 1]), np.array([0.0, 0.5]))
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    order = slice(None) if ordered or not columns else np.lexsort(columns)
    for column in columns:
        wide = column.astype(np.float64) + 0.0 if column.dtype.kind == "f" else column.astype(np.int64)
        digest.update(f"{wide.dtype.kind}{wide.size}:".encode())
        digest.update(np.ascontiguousarray(wide[order]).tobytes())
    return digest.hexdigest()
