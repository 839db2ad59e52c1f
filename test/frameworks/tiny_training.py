"""A tiny training loop in numpy: the state a hand-written trainer keeps and saves with numpy or h5py.

A two-layer network of about a thousand parameters (as many as `hidden` asks for), regression on fixed
random data, Adam, one seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def train(steps: int, seed: int = 7, hidden: int = 32) -> dict[str, Any]:
    """Parameters, Adam moments, losses, step and generator state after that many real steps."""
    rng = np.random.default_rng(seed)
    params = {
        "dense_0/kernel": rng.normal(0, 0.3, (16, hidden)).astype(np.float32),
        "dense_0/bias": np.zeros(hidden, np.float32),
        "dense_1/kernel": rng.normal(0, 0.3, (hidden, 8)).astype(np.float32),
        "dense_1/bias": np.zeros(8, np.float32),
    }
    first = {name: np.zeros_like(value) for name, value in params.items()}
    second = {name: np.zeros_like(value) for name, value in params.items()}
    target = rng.normal(0, 1, (16, 8)).astype(np.float32)
    losses = []
    for step in range(1, steps + 1):
        inputs = rng.normal(0, 1, (32, 16)).astype(np.float32)
        loss, gradients = _loss_and_gradients(params, inputs, inputs @ target)
        losses.append(loss)
        for name, gradient in gradients.items():
            first[name] = np.float32(0.9) * first[name] + np.float32(0.1) * gradient
            second[name] = np.float32(0.999) * second[name] + np.float32(0.001) * gradient**2
            mean = first[name] / np.float32(1 - 0.9**step)
            scale = np.sqrt(second[name] / np.float32(1 - 0.999**step)) + np.float32(1e-8)
            params[name] = params[name] - np.float32(0.01) * mean / scale
    words = rng.bit_generator.state["state"]
    state = [
        words["state"] >> 64,
        words["state"] & (2**64 - 1),
        words["inc"] >> 64,
        words["inc"] & (2**64 - 1),
    ]
    progress = {"step": steps, "rng": np.array(state, np.uint64), "losses": np.array(losses, np.float32)}
    return {"params": params, "m": first, "v": second} | progress


def _loss_and_gradients(
    params: dict[str, np.ndarray], inputs: np.ndarray, wanted: np.ndarray
) -> tuple[np.float32, dict[str, np.ndarray]]:
    hidden = np.maximum(inputs @ params["dense_0/kernel"] + params["dense_0/bias"], 0)
    error = (hidden @ params["dense_1/kernel"] + params["dense_1/bias"] - wanted) / np.float32(len(inputs))
    back = (error @ params["dense_1/kernel"].T) * (hidden > 0)
    gradients = {
        "dense_0/kernel": inputs.T @ back,
        "dense_0/bias": back.sum(0),
        "dense_1/kernel": hidden.T @ error,
        "dense_1/bias": error.sum(0),
    }
    return np.square(error).sum(), gradients
