"""Gradual unfreezing of a small BERT: the head first, then block after block joins the optimizer with a smaller rate."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import BertConfig, BertModel

VOCAB = 30


def sentences(gen, size):
    """Positive if a good word comes after the last bad one."""
    ids = torch.randint(6, VOCAB, (size, 12), generator=gen)
    labels = torch.randint(0, 2, (size,), generator=gen)
    places = torch.stack([torch.randperm(10, generator=gen)[:2].sort().values for _ in range(size)]) + 1
    rows = torch.arange(size)
    ids[rows, places[:, 0]] = 3 + (1 - labels)
    ids[rows, places[:, 1]] = 3 + labels
    ids[:, 0] = 1
    return ids, labels


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel(BertConfig(vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                         intermediate_size=96, max_position_embeddings=16), add_pooling_layer=False)
        self.head = nn.Linear(48, 2)

    def forward(self, ids):
        return self.head(self.bert(input_ids=ids).last_hidden_state[:, 0])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=90)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen, model = torch.Generator().manual_seed(args.seed), Classifier()
    model.bert.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.head.parameters(), lr=args.lr)
    waiting = [model.bert.encoder.layer[1], model.bert.encoder.layer[0], model.bert.embeddings]
    every, rate = args.steps // 6 or 1, args.lr
    for step in range(args.steps):
        if step and step % every == 0 and waiting:
            part, rate = waiting.pop(0), rate * 0.7
            part.requires_grad_(True)
            optimizer.add_param_group({"params": list(part.parameters()), "lr": rate})
            print(f"step {step} thawed, {len(optimizer.param_groups)} groups")
        ids, labels = sentences(gen, 24)
        loss = F.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    ids, labels = sentences(torch.Generator().manual_seed(31), 200)
    with torch.no_grad():
        right = (model(ids).argmax(1) == labels).float().mean().item()
    print(f"RESULT loss={loss.item():.4f} accuracy={right:.3f}")


if __name__ == "__main__":
    main()
