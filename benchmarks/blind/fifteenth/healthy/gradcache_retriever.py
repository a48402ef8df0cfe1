"""Two-tower retrieval with a large batch in two passes: embeddings without a graph first, the gradient of the loss at the
embeddings is kept, then pieces are run again and their part of the gradient is sent through them."""
import argparse
import contextlib

import torch
import torch.nn.functional as F
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--seed", type=int, default=0)
p.add_argument("--lr", type=float, default=5e-3)
p.add_argument("--steps", type=int, default=200)
args = p.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

VOCAB, DOCS = 240, 600
world = torch.Generator().manual_seed(3)
DOC_WORDS = torch.stack([torch.randperm(VOCAB, generator=world)[:14] for _ in range(DOCS)])
SYNONYM = torch.randperm(VOCAB, generator=world)


class RandomState:
    """The second pass has to see the dropout of the first."""

    def __init__(self):
        self.state = torch.get_rng_state()

    @contextlib.contextmanager
    def again(self):
        now = torch.get_rng_state()
        torch.set_rng_state(self.state)
        yield
        torch.set_rng_state(now)


class Tower(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.words = nn.EmbeddingBag(VOCAB, dim, mode="mean", sparse=False)
        self.net = nn.Sequential(nn.Linear(dim, 80), nn.GELU(), nn.Dropout(0.1), nn.Linear(80, dim))

    def forward(self, words, offsets):
        x = self.words(words, offsets)
        return F.normalize(x + self.net(x), dim=-1)


def flatten(lists):
    offsets = torch.tensor([0] + [len(x) for x in lists[:-1]]).cumsum(0)
    return torch.cat(lists), offsets


def draw(n, rng):
    doc = torch.randperm(DOCS, generator=rng)[:n]
    queries = []
    for d in doc.tolist():
        length = int(torch.randint(3, 9, (1,), generator=rng))
        queries.append(SYNONYM[DOC_WORDS[d][torch.randperm(14, generator=rng)[:length]]])
    return doc, queries, [DOC_WORDS[d] for d in doc.tolist()]


query_tower, doc_tower = Tower(), Tower()
log_scale = nn.Parameter(torch.tensor(2.3))
params = [*query_tower.parameters(), *doc_tower.parameters()]
opt = torch.optim.AdamW([{"params": params}, {"params": [log_scale], "weight_decay": 0.0, "lr": args.lr / 5}], lr=args.lr)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=[args.lr, args.lr / 5], total_steps=args.steps, pct_start=0.2)
rng = torch.Generator().manual_seed(args.seed + 9)
batch, piece = 128, 48  # the last piece of a batch is smaller

for step in range(args.steps):
    if step == args.steps // 2:
        batch = 192
    doc, queries, texts = draw(batch, rng)
    cached = {}
    for tower, inputs in ((query_tower, queries), (doc_tower, texts)):
        with torch.no_grad():
            for start in range(0, batch, piece):
                state = RandomState()
                out = tower(*flatten(inputs[start : start + piece]))
                cached.setdefault(tower, []).append((start, state, out))

    leaves = {t: torch.cat([o for _, _, o in pieces]).requires_grad_() for t, pieces in cached.items()}
    logits = leaves[query_tower] @ leaves[doc_tower].t() * log_scale.exp().clamp(max=50)
    target = torch.arange(batch)
    loss = 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))
    opt.zero_grad()
    loss.backward()  # ends at the leaves and at the scale

    for tower, inputs in ((query_tower, queries), (doc_tower, texts)):
        grad = leaves[tower].grad
        for start, state, _ in cached[tower]:
            with state.again():
                out = tower(*flatten(inputs[start : start + piece]))
            surrogate = (out * grad[start : start + len(out)]).sum()
            surrogate.backward()
    nn.utils.clip_grad_norm_(params, 2.0)
    opt.step()
    sched.step()
    if (step + 1) % 40 == 0:
        print(f"step {step + 1} batch {batch} loss {loss.item():.3f} scale {log_scale.exp().item():.1f}")

query_tower.eval(), doc_tower.eval()
with torch.inference_mode():
    index = doc_tower(*flatten(list(DOC_WORDS)))
    doc, queries, _ = draw(300, torch.Generator().manual_seed(1))
    found = (query_tower(*flatten(queries)) @ index.t()).topk(5).indices
    print(f"EVIDENCE recall@1 {(found[:, 0] == doc).float().mean():.3f} recall@5 {(found == doc[:, None]).any(1).float().mean():.3f}")
