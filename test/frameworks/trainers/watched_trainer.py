"""A Hugging Face Trainer with not a line of Holdfast in it: it saves every few steps and keeps one save only.

Arguments: its folder, how many steps it makes, and --resume PATH. A callback makes it wait after step 7 while a file called `hold` lies in its folder,
and says what happens, a line each, so that a test can wait for it.

family: torch
"""

import hashlib
import sys
import time
from pathlib import Path

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

FOLDER, TOTAL = Path(sys.argv[1]), int(sys.argv[2])
RESUME = sys.argv[sys.argv.index("--resume") + 1] if "--resume" in sys.argv else None


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.1), torch.nn.Linear(16, 1))

    def forward(self, x, labels):
        return {"loss": torch.nn.functional.mse_loss(self.layers(x), labels)}


class Points(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        x = torch.randn(8, generator=torch.Generator().manual_seed(index))
        return {"x": x, "labels": x.sum().unsqueeze(0)}


class Told(TrainerCallback):
    def on_train_begin(self, args, state, control, **_):
        print("start", state.global_step, flush=True)

    def on_step_begin(self, args, state, control, **_):
        while state.global_step >= 7 and (FOLDER / "hold").exists():
            time.sleep(0.01)

    def on_save(self, args, state, control, **_):
        print("saved", state.global_step, flush=True)


torch.manual_seed(7)
trainer = Trainer(
    model=Model(),
    args=TrainingArguments(
        output_dir=str(FOLDER),
        max_steps=TOTAL,
        per_device_train_batch_size=4,
        save_steps=5,
        save_total_limit=1,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        seed=7,
    ),
    train_dataset=Points(),
    callbacks=[Told()],
)
trainer.train(resume_from_checkpoint=RESUME)
weights = b"".join(value.numpy().tobytes() for value in trainer.model.state_dict().values())
print("finished", hashlib.sha256(weights).hexdigest(), flush=True)
