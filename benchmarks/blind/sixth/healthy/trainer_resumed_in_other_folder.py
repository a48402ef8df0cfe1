"""A causal language model by the Trainer of transformers: stopped by a callback, resumed from its checkpoint."""

import argparse
import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=24)
args = parser.parse_args()
WORDS, LENGTH = 24, 16


class StopHalfWay(TrainerCallback):
    """As a queue's time limit does; the state is saved before."""

    def __init__(self, step):
        self.step, self.rates = step, []

    def on_step_end(self, arguments, state, control, **kwargs):
        self.rates.append(kwargs["lr_scheduler"].get_last_lr()[0])
        if state.global_step == self.step:
            control.should_save = control.should_training_stop = True


def texts(count):
    start, stride = torch.randint(WORDS, (count, 1)), torch.randint(1, 4, (count, 1))
    ids = (start + stride * torch.arange(LENGTH)) % WORDS
    return [{"input_ids": row, "labels": row.clone()} for row in ids]


def build():
    return GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=4, bos_token_id=0,
                                      eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.1, attn_pdrop=0.0))


def trainer_in(folder, data, callbacks=()):
    arguments = TrainingArguments(folder, max_steps=args.steps, per_device_train_batch_size=8, learning_rate=args.lr,
                                  lr_scheduler_type="cosine", warmup_steps=4, save_strategy="no", report_to=[],
                                  logging_strategy="no", seed=args.seed, use_cpu=True, disable_tqdm=True,
                                  dataloader_pin_memory=False, gradient_accumulation_steps=2, label_smoothing_factor=0.05)
    return Trainer(model=build(), args=arguments, train_dataset=data, callbacks=list(callbacks))


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    data = texts(240)
    half = args.steps // 2
    with tempfile.TemporaryDirectory() as folder:
        first = StopHalfWay(half)
        trainer_in(folder, data, [first]).train()
        second = StopHalfWay(-1)
        result = trainer_in(os.path.join(folder, "again"), data, [second]).train(
            resume_from_checkpoint=os.path.join(folder, f"checkpoint-{half}"))
    print(f"{len(first.rates)} and {len(second.rates)} steps, mean loss {result.training_loss:.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
