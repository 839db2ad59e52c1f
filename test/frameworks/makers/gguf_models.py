"""Makes a GGUF fixture with gguf.GGUFWriter: a few tensors, float, half and quantized, and metadata.

Family: jax.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gguf
import numpy as np

from common import start_fixture, write_fixture
from loaders.gguf_models import load


def write(path: Path, alignment: int | None = None) -> None:
    rng = np.random.default_rng(7)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_token_list(["<s>", "</s>", "a", "b"])
    writer.add_token_scores([0.0, 0.0, -1.0, -2.0])
    if alignment is not None:
        writer.add_custom_alignment(alignment)
    embedding = rng.normal(0, 1, (4, 32)).astype(np.float32)
    kernel = rng.normal(0, 1, (32, 32)).astype(np.float32)
    quantized = gguf.quants.quantize(kernel, gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("blk.0.attn_q.weight", quantized, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("blk.0.attn_norm.weight", np.ones(30, np.float32))
    writer.add_tensor("output.weight", kernel[:4].astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(out_dir: str) -> None:
    for fixture, alignment in (("gguf-q8", None), ("gguf-aligned-64", 64)):
        data = start_fixture(out_dir, fixture)
        write(data / "tiny.gguf", alignment)
        write_fixture(
            data,
            load=load,
            maker="gguf_models",
            path="tiny.gguf",
            format="gguf",
            step=None,
            content=["weights"],
            checksums="none",
            versions={"gguf": version("gguf"), "numpy": np.__version__},
        )


if __name__ == "__main__":
    main(sys.argv[1])
