"""The Trainer of transformers with a loss of one's own and accumulation over four micro-batches."""

import argparse
import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=8)
args = parser.parse_args()


class Counting(Dataset):
    def __init__(self, n=256):
        step = torch.randint(1, 4, (n, 1))
        self.tokens = (torch.randint(0, 20, (n, 1)) + step * torch.arange(12)) % 20

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {"input_ids": self.tokens[i], "labels": self.tokens[i]}


class WeightedTrainer(Trainer):
    """Later tokens of a sequence count more."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(input_ids=inputs["input_ids"])
        logits, labels = outputs.logits[:, :-1], inputs["labels"][:, 1:]
        weight = torch.linspace(0.5, 1.5, labels.shape[1])
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none") * weight
        loss = loss.mean()
        return (loss, outputs) if return_outputs else loss


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = GPT2LMHeadModel(GPT2Config(vocab_size=20, n_positions=16, n_embd=32, n_layer=1, n_head=2))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, max_steps=args.steps, per_device_train_batch_size=8, gradient_accumulation_steps=4,
                                  learning_rate=args.lr, logging_steps=1, save_strategy="no", report_to="none", use_cpu=True,
                                  seed=args.seed, disable_tqdm=True, optim="sgd", lr_scheduler_type="constant")
    trainer = WeightedTrainer(model=model, args=arguments, train_dataset=Counting())
    trainer.train()
log = [e for e in trainer.state.log_history if "grad_norm" in e]
print(f"EVIDENCE norm of the first gradient {log[0]['grad_norm']:.3f}, loss {log[0]['loss']:.3f} to {log[-1]['loss']:.3f}")

# Idea from own; a `compute_loss` of one's own that ignores `num_items_in_batch`, as after huggingface/transformers#34191
# SPDX-License-Identifier: Apache-2.0
