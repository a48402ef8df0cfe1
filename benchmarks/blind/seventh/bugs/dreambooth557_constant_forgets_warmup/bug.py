"""A small encoder of transformers is trained by the Trainer with a warm-up and a constant rate after it."""

import argparse
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.003), ("--steps", int, 60)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


class Rates(TrainerCallback):
    """Notes the rate that each step is made with."""

    def __init__(self):
        self.seen = []

    def on_step_begin(self, args, state, control, optimizer=None, **rest):
        self.seen.append(optimizer.param_groups[0]["lr"])


class Rows(torch.utils.data.Dataset):
    """The label tells whether the first word is the greater one of two."""

    def __init__(self, count):
        self.ids = torch.randint(2, 30, (count, 8))
        self.labels = (self.ids[:, 0] > self.ids[:, 1]).long()

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.labels[index]}


torch.manual_seed(args.seed)
torch.set_num_threads(1)
config = BertConfig(vocab_size=30, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                    max_position_embeddings=16)
model, rates = BertForSequenceClassification(config), Rates()
with tempfile.TemporaryDirectory() as folder:
    settings = TrainingArguments(output_dir=folder, max_steps=args.steps, learning_rate=args.lr, seed=args.seed,
                                 per_device_train_batch_size=32, warmup_steps=args.steps // 4, report_to=[], use_cpu=True,
                                 lr_scheduler_type="constant", logging_steps=10, save_strategy="no",
                                 disable_tqdm=True, dataloader_num_workers=0, dataloader_pin_memory=False)
    trainer = Trainer(model, settings, train_dataset=Rows(1200), eval_dataset=Rows(200), callbacks=[rates])
    trainer.train()
    value = trainer.evaluate()["eval_loss"]
print(f"EVIDENCE the first steps have rates {[round(r, 6) for r in rates.seen[:4]]}, the loss is {value:.4f}")

# SPDX-License-Identifier: Apache-2.0
