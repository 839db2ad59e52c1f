"""A tensor-parallel model of Megatron-Core layers on CPU ranks, its optimizer and schedule, in Megatron's key layout."""

from __future__ import annotations

import argparse
import random
from typing import Any

import numpy
import torch
from common import EXTRA_STEPS
from megatron.core import parallel_state
from megatron.core.dist_checkpointing.mapping import ShardedObject
from megatron.core.dist_checkpointing.optimizer import (
    get_param_id_to_sharded_param_map,
    optim_state_to_sharding_state,
)
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear, VocabParallelEmbedding
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.transformer_config import TransformerConfig

RANKS = 2
STEPS = 100 + EXTRA_STEPS


class TinyParallelModel(MegatronModule):
    """Embedding, column-parallel and row-parallel layer: one tensor of each way to split."""

    def __init__(self, vocabulary: int, hidden: int) -> None:
        config = TransformerConfig(
            num_layers=1,
            hidden_size=hidden,
            num_attention_heads=2,
            use_cpu_initialization=True,
            tensor_model_parallel_size=RANKS,
            perform_initialization=True,
        )
        super().__init__(config)
        init = torch.nn.init.xavier_normal_
        self.embed = VocabParallelEmbedding(vocabulary, hidden, init_method=init, config=config)
        self.up = ColumnParallelLinear(hidden, 16, config=config, init_method=init, gather_output=False)
        self.down = RowParallelLinear(
            16, 4, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.down(torch.relu(self.up(self.embed(tokens))[0]))[0]


class MegatronTraining:
    """Trains on this rank; the process group must have been started by torchrun or by its like."""

    def __init__(self, vocabulary: int = 16, hidden: int = 8) -> None:
        torch.set_num_threads(1)
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group("gloo")
            parallel_state.initialize_model_parallel(RANKS)
        for seed in (torch.manual_seed, random.seed, numpy.random.seed):
            seed(7)
        self.model = TinyParallelModel(vocabulary, hidden)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)
        for group in self.optimizer.param_groups:
            group.update(max_lr=1e-2, min_lr=0.0, lr_mult=1.0, wd_mult=1.0)
        self.schedule = OptimizerParamScheduler(
            self.optimizer,
            init_lr=0.0,
            max_lr=1e-2,
            min_lr=0.0,
            lr_warmup_steps=10,
            lr_decay_steps=1000,
            lr_decay_style="cosine",
            start_wd=0.0,
            end_wd=0.0,
            wd_incr_steps=1000,
            wd_incr_style="constant",
        )

    def run(self, steps: int = STEPS) -> "MegatronTraining":
        for _ in range(steps):
            tokens = torch.randint(0, 16, (8,))
            loss = torch.nn.functional.cross_entropy(self.model(tokens), tokens % 4)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step(increment=1)
        return self

    def common(self) -> dict[str, Any]:
        """Megatron's keys that are not split over ranks."""
        args = argparse.Namespace(
            tensor_model_parallel_size=RANKS,
            pipeline_model_parallel_size=1,
            expert_model_parallel_size=1,
            context_parallel_size=1,
            data_parallel_size=1,
            world_size=RANKS,
            num_layers=1,
            hidden_size=8,
            iteration=STEPS,
            consumed_train_samples=STEPS * 8,
            use_distributed_optimizer=False,
        )
        return {
            "args": args,
            "checkpoint_version": 3.0,
            "iteration": STEPS,
            "opt_param_scheduler": self.schedule.state_dict(),
            "num_floating_point_operations_so_far": 0,
        }

    def sharded_state(self) -> dict[str, Any]:
        """Everything, with this rank's part of each tensor: what torch_dist saves, and the template it loads into."""
        model = self.model.sharded_state_dict()
        optimizer = self.optimizer.state_dict()
        common_step = optimizer["state"][0]["step"]
        parameters = get_param_id_to_sharded_param_map(model, self.model.parameters())
        optim_state_to_sharding_state(optimizer, parameters, exclude_keys=("step",))
        optimizer["state"]["common_step"] = common_step
        place = (0, torch.distributed.get_rank())
        rng = ShardedObject("rng_state", self.rng(), (1, RANKS), place, replica_id=0)
        return {**self.common(), "model": model, "optimizer": optimizer, "rng_state": rng}

    @staticmethod
    def rng() -> list[dict[str, Any]]:
        """One entry per data-parallel rank; no CUDA states on a CPU."""
        return [
            {
                "random_rng_state": random.getstate(),
                "np_rng_state": numpy.random.get_state(),
                "torch_rng_state": torch.get_rng_state(),
                "cuda_rng_state": None,
                "rng_tracker_states": {},
            }
        ]
