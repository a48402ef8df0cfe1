"""transformers' Trainer: a tiny BERT learns masked words from scratch, masks drawn anew by the collator."""
import argparse
import random
import tempfile

import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments, TrainerCallback, set_seed

PAD, CLS, SEP, MASK = range(4)
PEOPLE = {"anna": "she", "tom": "he", "mary": "she", "john": "he", "lucy": "she", "peter": "he"}
PLACES = {"beach": "swim", "library": "read", "kitchen": "cook", "garden": "dig", "gym": "train"}
EXTRA = ["on monday", "in the morning", "after a long day", "with a friend", "as always", ""]


def make_text(rng):
    person, place = rng.choice(list(PEOPLE)), rng.choice(list(PLACES))
    words = f"{person} goes to the {place} {rng.choice(EXTRA)} because {PEOPLE[person]} wants to {PLACES[place]}".split()
    if rng.random() < 0.3:
        words += f"and {rng.choice(list(PEOPLE))} stays at home".split()
    return words


class MaskingCollator:
    def __init__(self, vocab_size, p=0.2):
        self.vocab_size, self.p = vocab_size, p

    def __call__(self, features):
        width = max(len(f["input_ids"]) for f in features)
        ids = torch.full((len(features), width), PAD)
        for i, f in enumerate(features):
            ids[i, :len(f["input_ids"])] = torch.tensor(f["input_ids"])
        attention = (ids != PAD).long()
        labels = ids.clone()
        chosen = (torch.rand(ids.shape) < self.p) & (ids > MASK)
        labels[~chosen] = -100
        u = torch.rand(ids.shape)
        masked = ids.masked_fill(chosen & (u < 0.8), MASK)
        swap = chosen & (u >= 0.9)
        masked[swap] = torch.randint(MASK + 1, self.vocab_size, (int(swap.sum()),))
        return {"input_ids": masked, "attention_mask": attention, "labels": labels}


class Printer(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        shown = {k: v for k, v in logs.items() if k in ("loss", "grad_norm", "learning_rate", "eval_loss")}
        if shown:
            print(f"step {state.global_step}: " + ", ".join(f"{k} {float(v):.4g}" for k, v in shown.items()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(args.seed)
    rng = random.Random(args.seed)
    texts = [make_text(rng) for _ in range(900)]
    vocab = {w: i + 4 for i, w in enumerate(sorted({w for t in texts for w in t}))}
    encoded = [{"input_ids": [CLS] + [vocab[w] for w in t] + [SEP]} for t in texts]
    config = BertConfig(vocab_size=len(vocab) + 4, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=96, max_position_embeddings=32, pad_token_id=PAD)
    model = BertForMaskedLM(config)
    with tempfile.TemporaryDirectory() as folder:
        training = TrainingArguments(output_dir=folder, max_steps=args.steps, learning_rate=args.lr,
                                     per_device_train_batch_size=24, per_device_eval_batch_size=64, lr_scheduler_type="cosine",
                                     warmup_steps=6, weight_decay=0.01, logging_steps=20,
                                     eval_strategy="steps", eval_steps=50, save_strategy="no", report_to=[], use_cpu=True,
                                     seed=args.seed, disable_tqdm=True, remove_unused_columns=False,
                                     dataloader_pin_memory=False)
        trainer = Trainer(model=model, args=training, train_dataset=encoded[:800], eval_dataset=encoded[800:],
                          data_collator=MaskingCollator(len(vocab) + 4), callbacks=[Printer()])
        trainer.train()
    model.eval()
    words = "anna goes to the library because she wants to read".split()
    ids = [CLS] + [vocab[w] for w in words] + [SEP]
    at = rng.choice([5, 7, 10])
    truth, ids[at] = ids[at], MASK
    with torch.no_grad():
        guess = model(input_ids=torch.tensor([ids])).logits[0, at].argmax().item()
    names = {i: w for w, i in vocab.items()}
    print(f"masked '{names[truth]}', guessed '{names.get(guess, '?')}'")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
