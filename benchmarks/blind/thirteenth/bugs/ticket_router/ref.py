"""Route support tickets: a small encoder over word ids of different lengths."""

import argparse
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(args.seed)
random.seed(args.seed)

PAD, CLS, VOCAB, QUEUES = 0, 1, 120, 4


def make_ticket():
    """Each queue has keywords; the queue with more of them in the ticket takes it."""
    queue = random.randrange(QUEUES)
    words = [random.randrange(40, VOCAB) for _ in range(random.randint(4, 20))]
    for _ in range(2):
        words.insert(random.randrange(len(words)), 2 + queue * 8 + random.randrange(8))
    if random.random() < 0.5:
        other = random.randrange(QUEUES)
        words.insert(random.randrange(len(words)), 2 + other * 8 + random.randrange(8))
    return torch.tensor([CLS] + words), queue


def collate(batch):
    ids = pad_sequence([ids for ids, _ in batch], batch_first=True, padding_value=PAD)
    return ids, torch.tensor([queue for _, queue in batch])


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.norm2(x))


class Router(nn.Module):
    def __init__(self, dim=48, heads=4, layers=2):
        super().__init__()
        self.words = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.places = nn.Embedding(32, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, QUEUES)

    def forward(self, ids):
        mask = ids != PAD
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x[:, 0]))


tickets = [make_ticket() for _ in range(2400)]
train_loader = DataLoader(tickets[:2000], batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(tickets[2000:], batch_size=100, collate_fn=collate)
router = Router()
optimizer = torch.optim.AdamW(router.parameters(), lr=args.lr)
step = 0
while step < args.steps:
    for ids, queue in train_loader:
        router.train()
        loss = F.cross_entropy(router(ids), queue)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(router.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")
        if step >= args.steps:
            break

router.eval()
with torch.no_grad():
    right = sum((router(ids).argmax(1) == queue).sum().item() for ids, queue in test_loader)
print(f"EVIDENCE accuracy on unseen tickets {right / 400:.3f}")
