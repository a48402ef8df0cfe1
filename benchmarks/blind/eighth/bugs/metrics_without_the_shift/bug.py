"""The Trainer of transformers fits a small GPT-2; compute_metrics tells how often the next word is right."""

import argparse
import os
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed


class Melodies(Dataset):
    """Words that follow a fixed order of their own, with a mistake here and there; some begin with a silent prompt."""

    def __init__(self, size, length, words, rng):
        after = np.random.default_rng(7).permutation(words)
        rows = np.zeros((size, length), dtype=np.int64)
        rows[:, 0] = rng.integers(words, size=size)
        for t in range(1, length):
            rows[:, t] = after[rows[:, t - 1]]
            wrong = rng.random(size) < 0.1
            rows[wrong, t] = rng.integers(words, size=wrong.sum())
        self.rows = torch.from_numpy(rows)
        self.prompts = torch.from_numpy(rng.integers(0, 5, size))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row, labels = self.rows[index], self.rows[index].clone()
        labels[:self.prompts[index]] = -100
        return {"input_ids": row, "labels": labels}


def compute_metrics(output):
    answers, labels = output.predictions, output.label_ids
    counted = labels != -100
    return {"accuracy": float((answers == labels)[counted].mean())}


class Tell(TrainerCallback):
    def __init__(self):
        self.accuracies = []

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            print(f"step {state.global_step}: loss {float(logs['loss']):.4f}")

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        self.accuracies.append(metrics["eval_accuracy"])
        print(f"step {state.global_step}: eval loss {metrics['eval_loss']:.4f}, accuracy {metrics['eval_accuracy']:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    train, valid = Melodies(800, 20, 24, rng), Melodies(96, 20, 24, rng)
    config = GPT2Config(vocab_size=24, n_positions=20, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    tell = Tell()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, max_steps=args.steps, per_device_train_batch_size=16, per_device_eval_batch_size=32,
            learning_rate=args.lr, warmup_steps=10, logging_steps=20, eval_strategy="steps", eval_steps=40, save_strategy="no",
            seed=args.seed, use_cpu=True, report_to="none", disable_tqdm=True)
        trainer = Trainer(
            model=GPT2LMHeadModel(config), args=arguments, train_dataset=train, eval_dataset=valid, callbacks=[tell],
            compute_metrics=compute_metrics, preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1))
        trainer.train()
        trainer.evaluate()
    print(f"EVIDENCE accuracy {tell.accuracies[-1]:.4f}, about 0.9 is possible")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
