# family: torch
"""safetensors: a single file, one with a __metadata__ that tells the step, mixed types, and sharded with an index.

The index is made by huggingface_hub's own splitter, the function behind save_pretrained.
"""

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import huggingface_hub
import safetensors
import torch
from common import start_fixture, write_fixture
from huggingface_hub import split_torch_state_dict_into_shards
from loaders.safetensors_files import load
from makers.tiny import Training
from safetensors.torch import save_file


def main(out_dir: str) -> None:
    weights = Training().run(100).model.state_dict()
    versions = {"safetensors": safetensors.__version__, "torch": torch.__version__.split("+")[0]}
    common = dict(maker="safetensors_files", content=("weights",), checksums="none", load=load)

    data = start_fixture(out_dir, "safetensors-single")
    save_file(weights, data / "model.safetensors", metadata={"format": "pt", "step": "100"})
    facts = common | {"content": ("weights", "step")}
    write_fixture(data, path="model.safetensors", format="safetensors", step=100, versions=versions, **facts)

    data = start_fixture(out_dir, "safetensors-mixed")
    mixed = {
        "half": weights["hidden.weight"].to(torch.bfloat16),
        "float8": weights["head.weight"].to(torch.float8_e4m3fn),
        "mask": weights["embed.weight"] > 0,
        "scalar": torch.tensor(3.0, dtype=torch.float64),
        "empty": torch.zeros(0, 4),
        'name with "quotes" and ünicode': torch.arange(5, dtype=torch.int16),
    }
    save_file(mixed, data / "mixed.safetensors")
    write_fixture(
        data, path="mixed.safetensors", format="safetensors", step=None, versions=versions, **common
    )

    data = start_fixture(out_dir, "safetensors-sharded")
    split = split_torch_state_dict_into_shards(weights, max_shard_size=1200)
    for file, names in split.filename_to_tensors.items():
        save_file({name: weights[name] for name in names}, data / file, metadata={"format": "pt"})
    index = {"metadata": split.metadata, "weight_map": split.tensor_to_filename}
    (data / "model.safetensors.index.json").write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")
    versions["huggingface_hub"] = huggingface_hub.__version__
    write_fixture(data, path=".", format="safetensors-sharded", step=None, versions=versions, **common)


if __name__ == "__main__":
    main(sys.argv[1])
