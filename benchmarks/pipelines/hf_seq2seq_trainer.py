"""transformers' Seq2SeqTrainer: a T5 learns to reverse digits; evaluation by `generate`."""

import tempfile

import torch
from torch.utils.data import Dataset
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, T5Config, T5ForConditionalGeneration, set_seed
from transformers.utils import logging

from options import options

logging.set_verbosity_error()
LENGTH = 6


class Reversed(Dataset):
    """Digits 2 to 11 and an end of sentence; the target is the same backwards."""

    def __init__(self, n, seed):
        self.rows = torch.randint(2, 12, (n, LENGTH), generator=torch.Generator().manual_seed(seed))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        end = torch.ones(1, dtype=torch.long)
        return {"input_ids": torch.cat([self.rows[i], end]), "labels": torch.cat([self.rows[i].flip(0), end])}


def exact(prediction):
    guessed = torch.as_tensor(prediction.predictions)[:, 1 : LENGTH + 1]
    wanted = torch.as_tensor(prediction.label_ids)[:, :LENGTH]
    return {"digits": float((guessed[:, :LENGTH] == wanted[:, : guessed.shape[1]]).float().mean())}


def main():
    args = options(lr=5e-3, width=32, steps=40)
    torch.set_num_threads(1)
    set_seed(args.seed)
    config = T5Config(
        vocab_size=12, d_model=args.width, d_kv=8, d_ff=2 * args.width, num_layers=2, num_heads=4,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        trainer = Seq2SeqTrainer(
            model=T5ForConditionalGeneration(config),
            args=Seq2SeqTrainingArguments(
                output_dir=folder, max_steps=args.steps, per_device_train_batch_size=32, per_device_eval_batch_size=32,
                learning_rate=args.lr, lr_scheduler_type="constant_with_warmup", warmup_steps=5,
                predict_with_generate=True, generation_max_length=LENGTH + 2, eval_strategy="steps",
                eval_steps=max(1, args.steps // 2), save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True,
                seed=args.seed, logging_steps=10,
            ),
            train_dataset=Reversed(640, args.seed),
            eval_dataset=Reversed(64, args.seed + 1),
            compute_metrics=exact,
        )  # fmt: skip
        trainer.train()
        print(f"digits in place: {trainer.evaluate()['eval_digits']:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
