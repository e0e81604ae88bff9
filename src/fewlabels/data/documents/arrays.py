"""Read arrays from a NumPy archive (.npz), with bounds on size, and check their dtype, shape and range."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy

from fewlabels.data.documents.parsing import MAX_BYTES
from fewlabels.errors import InputError

WORDS = {"iu": "whole numbers", "u": "bytes", "f": "numbers"}


@dataclass(frozen=True)
class Arrays:
    """The named arrays of a file; `take` validates one of them."""

    found: Mapping[str, np.ndarray]
    where: str  # the file, for messages
    advice: str

    def take(self, name: str, kind: str, shape: tuple[int | None, ...], *, low: float | int = -np.inf, high: float | int = np.inf, nan: bool = False) -> Any:  # fmt: skip
        """Return an array of this dtype kind ('iu', 'u' or 'f') and shape, with values within these bounds."""
        if name not in self.found:
            raise self.refuse(f"the array {name} is missing")
        array = self.found[name]
        if array.dtype.kind not in kind or not array.dtype.isnative or array.dtype.itemsize > 8:
            raise self.refuse(f"the array {name} should hold {WORDS[kind]}, and holds {array.dtype}")
        if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
            raise self.refuse(f"the array {name} has the shape {array.shape}, which does not fit the others")
        if not nan and np.isnan(array).any():
            raise self.refuse(f"the array {name} has values that are no numbers")
        if (array < low).any() or (array > high).any():
            raise self.refuse(f"the array {name} has values outside of {low:g} to {high:g}")
        return array

    def refuse(self, why: str) -> InputError:
        """Return an error about the file that holds the arrays."""
        return InputError(f"{self.where}: {why}; {self.advice}")


def read_arrays(raw: bytes, where: str, advice: str) -> Arrays:
    """Read all arrays of a NumPy archive, without unpickling."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_BYTES:
                raise ValueError(f"larger than {MAX_BYTES >> 20:,} MiB")
            found = {name.removesuffix(".npy"): _read_array(archive.read(name)) for name in archive.namelist()}
    except Exception as error:  # a damaged archive, compression or array header raises many types
        reason = str(error)[:100].splitlines() or [type(error).__name__]
        raise InputError(f"{where}: {reason[0]}; {advice}") from None
    return Arrays(found, where, advice)


def _read_array(raw: bytes) -> np.ndarray:
    """Read one array of a NumPy archive, whose size must be the one in its header."""
    file = io.BytesIO(raw)
    version = npy.read_magic(file)
    read_head = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read_head(file)
    if dtype.hasobject or dtype.itemsize * int(np.prod(shape, dtype=object)) != len(raw) - file.tell():
        raise ValueError("the size of an array differs from its header")
    file.seek(0)
    return npy.read_array(file, allow_pickle=False)
