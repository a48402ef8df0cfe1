"""LoRA with peft: an encoder trained on plain reviews in the script is adapted to a domain with its own slang."""

import argparse
import random

import torch
from peft import LoraConfig, TaskType, get_peft_model
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--pretrain-steps", type=int, default=80)
args = parser.parse_args()
random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)

PAD, CLS = 0, 1
GOOD, BAD, SLANG_GOOD, SLANG_BAD, PLAIN = range(4, 14), range(14, 24), range(24, 29), range(29, 34), range(34, 64)
VOCAB, LENGTH = 64, 16


def make_review(slang):
    label = random.randint(0, 1)
    words = random.choices(PLAIN, k=random.randint(3, 9))
    for _ in range(random.randint(2, 3)):
        if random.random() < slang:
            pool = SLANG_GOOD if label else SLANG_BAD
        else:
            pool = GOOD if (label == 1) != (random.random() < 0.1) else BAD
        words.insert(random.randint(0, len(words)), random.choice(pool))
    return [CLS] + words[:LENGTH - 1], label


def collate(rows):
    size = max(len(words) for words, _ in rows)
    ids = torch.full((len(rows), size), PAD)
    for i, (words, _) in enumerate(rows):
        ids[i, :len(words)] = torch.tensor(words)
    labels = torch.tensor([label for _, label in rows])
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": labels}


def endless(loader):
    while True:
        yield from loader


config = BertConfig(vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=96, max_position_embeddings=LENGTH, num_labels=2, pad_token_id=PAD,
                    initializer_range=0.08)
def make_loader(n, slang):
    rows = [make_review(slang) for _ in range(n)]
    return DataLoader(rows, batch_size=24, shuffle=True, drop_last=True, collate_fn=collate)


@torch.no_grad()
def accuracy(model, rows):
    model.eval()
    batch = collate(rows)
    labels = batch.pop("labels")
    return (model(**batch).logits.argmax(1) == labels).float().mean().item()


source, target = make_loader(1200, 0.0), make_loader(1200, 0.7)
test = [make_review(0.7) for _ in range(300)]

base = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(base.parameters(), lr=2e-3)
base.train()
for step, batch in zip(range(args.pretrain_steps), endless(source)):
    loss = base(**batch).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"source domain loss {loss.item():.3f}, accuracy on the target domain {accuracy(base, test):.3f}")

total = sum(p.numel() for p in base.parameters())
model = get_peft_model(base, LoraConfig(
    task_type=TaskType.SEQ_CLS, r=8, lora_alpha=16, lora_dropout=0.05,
    target_modules=["query", "value", "dense"], exclude_modules=r".*pooler.*",
    modules_to_save=["classifier", "pooler"]))
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=args.lr, weight_decay=0.0)
schedule = get_linear_schedule_with_warmup(optimizer, args.steps // 10, args.steps)

model.train()
for step, batch in zip(range(args.steps), endless(target)):
    loss = model(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trainable, 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    if step % 25 == 0:
        print(f"step {step} loss {loss.item():.3f} lr {schedule.get_last_lr()[0]:.5f}")

merged = model.merge_and_unload()
share = sum(p.numel() for p in trainable) / total
print(f"merged model: accuracy {accuracy(merged, test):.3f}, {share:.2f} of the weights trained")
