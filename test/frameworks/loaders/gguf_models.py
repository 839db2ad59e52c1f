"""Loads a GGUF file with gguf.GGUFReader: every field and every tensor.

Family: jax.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gguf
import numpy as np

from common import loader_main


def load(path: str) -> dict[str, Any]:
    reader = gguf.GGUFReader(path)
    fields = {name: [np.array(part) for part in field.parts] for name, field in reader.fields.items()}
    tensors = {
        t.name: (t.tensor_type.name, [int(n) for n in t.shape], np.array(t.data)) for t in reader.tensors
    }
    return {"fields": fields, "tensors": tensors}


if __name__ == "__main__":
    loader_main(load)
