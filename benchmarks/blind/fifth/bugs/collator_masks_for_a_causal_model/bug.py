"""The Trainer of transformers trains a small GPT-2 on made-up sentences; a collator makes labels of the words."""

import argparse
import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (DataCollatorForLanguageModeling, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, Trainer,
                          TrainingArguments)

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()
WORDS = 20


def make_tokenizer():
    vocabulary = {"<pad>": 0, "<mask>": 1, "<end>": 2, **{f"w{i}": i + 3 for i in range(WORDS)}}
    bare = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    bare.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=bare, pad_token="<pad>", mask_token="<mask>", eos_token="<end>")


def sentence(follows):
    words = [int(torch.randint(WORDS, ()))]
    while len(words) < 12:
        words.append(int(follows[words[-1]]) if torch.rand(()) < 0.85 else int(torch.randint(WORDS, ())))
    return " ".join(f"w{word}" for word in words) + " <end>"


torch.manual_seed(args.seed)
torch.set_num_threads(1)
tokenizer = make_tokenizer()
follows = torch.randperm(WORDS)
texts = [sentence(follows) for _ in range(320)]
data = [{"input_ids": tokenizer(text)["input_ids"]} for text in texts]
model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_positions=16, n_embd=32, n_layer=2, n_head=2,
                                   resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=2, eos_token_id=2))
collator = DataCollatorForLanguageModeling(tokenizer)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, max_steps=args.steps, per_device_train_batch_size=16, learning_rate=args.lr,
                                  report_to=[], save_strategy="no", logging_steps=10, seed=args.seed, use_cpu=True,
                                  disable_tqdm=True, dataloader_pin_memory=False)
    Trainer(model=model, args=arguments, train_dataset=data, data_collator=collator).train()
model.eval()
ids = tokenizer([sentence(follows) for _ in range(100)], return_tensors="pt")["input_ids"]
with torch.no_grad():
    logits = model(ids).logits[:, :-2]
known = (logits.argmax(-1) == follows[ids[:, :-2] - 3] + 3).float().mean().item()
print(f"EVIDENCE {known:.3f} of the words are followed by the likeliest one")

# SPDX-License-Identifier: Apache-2.0
