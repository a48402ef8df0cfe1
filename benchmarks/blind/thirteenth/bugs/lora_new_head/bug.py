"""Pretrain a tiny BERT on one labelling of synthetic reviews, then fine-tune it for another with LoRA."""

import argparse

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import BertConfig, BertModel, get_linear_schedule_with_warmup

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=80, help="steps of fine-tuning")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

VOCAB, LENGTH, PAD, CLS = 120, 16, 0, 1
GROUPS = 6  # words 10.. come in groups of 15: food, staff, price, noise, good, bad


def words_of(group, n):
    return 10 + group * 15 + torch.randint(0, 15, (n,))


def make_reviews(n):
    """A subject mentioned twice, each time with an opinion word after it, among filler words."""
    ids = torch.randint(100, VOCAB, (n, LENGTH))
    subject = torch.randint(0, 4, (n, 1)).repeat(1, 2)
    mood = torch.randint(0, 2, (n, 1)).repeat(1, 2)
    for k in range(2):
        at = 1 + k * 7 + torch.randint(0, 5, (n,))
        ids[torch.arange(n), at] = words_of(subject[:, k], n)
        ids[torch.arange(n), at + 1] = words_of(4 + mood[:, k], n)
    ids[:, 0] = CLS
    length = torch.randint(15, LENGTH + 1, (n, 1))
    ids = ids.masked_fill(torch.arange(LENGTH) >= length, PAD)
    complaint = mood[:, 0] == 1
    return ids, subject[:, 0] * 2 + mood[:, 0], torch.where(complaint, 1 + subject[:, 0] // 2, 0)


class Reviewer(nn.Module):
    def __init__(self, labels):
        super().__init__()
        config = BertConfig(
            vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=96, max_position_embeddings=LENGTH, hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        self.bert = BertModel(config, add_pooling_layer=False)
        self.classifier = nn.Linear(48, labels)

    def forward(self, ids):
        hidden = self.bert(input_ids=ids, attention_mask=(ids != PAD).long()).last_hidden_state
        return self.classifier(hidden[:, 0])


def fit(model, optimizer, scheduler, ids, labels, steps):
    model.train()
    total = 0.0
    for step in range(steps):
        batch = torch.randint(0, len(ids), (32,))
        loss = nn.functional.cross_entropy(model(ids[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        total = loss.item() if step == 0 else 0.9 * total + 0.1 * loss.item()
    return total


@torch.no_grad()
def accuracy(model, ids, labels):
    model.eval()
    return (model(ids).argmax(1) == labels).float().mean().item()


ids, first, second = make_reviews(2500)
test_ids, test_first, test_second = make_reviews(500)

model = Reviewer(labels=8)
pre = torch.optim.AdamW(model.parameters(), lr=2e-3)
loss = fit(model, pre, None, ids, first, 160)
print(f"pretraining: loss {loss:.4f}, accuracy {accuracy(model, test_ids, test_first):.3f}")

model.classifier = nn.Linear(48, 3)
fresh = model.classifier.weight.detach().clone()
model = get_peft_model(model, LoraConfig(
    r=4, lora_alpha=8, lora_dropout=0.0, target_modules=["query", "value"],
))
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=args.lr, weight_decay=0.01)
scheduler = get_linear_schedule_with_warmup(optimizer, args.steps // 10, args.steps)
loss = fit(model, optimizer, scheduler, ids, second, args.steps)
result = accuracy(model, test_ids, test_second)
merged = model.merge_and_unload()
head = (merged.classifier.weight - fresh).norm() / fresh.norm()
print(f"fine-tuning: {sum(p.numel() for p in trainable)} parameters, loss {loss:.4f}")
print(f"EVIDENCE the new head moved by {head.item():.3f} of its norm, loss {loss:.4f}, accuracy {result:.3f}")
