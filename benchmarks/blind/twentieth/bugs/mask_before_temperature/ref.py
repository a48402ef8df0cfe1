"""Retrieval of code snippets by question: InfoNCE with hard negatives, padded where a question has fewer, learned temperature."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

TOPICS, DIM, HARD = 40, 16, 3


def retrieval_batch(n, gen):
    """Question and snippet are noisy views of a topic; hard negatives are neighbours of it."""
    table = torch.randn(TOPICS, DIM, generator=torch.Generator().manual_seed(2))
    topic = torch.randperm(TOPICS, generator=gen)[:n]
    view = lambda t: table[t] + 0.5 * torch.randn(*t.shape, DIM, generator=gen)
    hard_topic = (topic[:, None] + torch.arange(1, HARD + 1)) % TOPICS
    count = torch.randint(1, HARD + 1, (n,), generator=gen)
    padded = torch.arange(HARD)[None] >= count[:, None]
    return view(topic), view(topic), view(hard_topic), padded


class TwoTower(nn.Module):
    def __init__(self, width=48, out=24):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(DIM, width), nn.GELU(), nn.Linear(width, out))
        self.doc = nn.Sequential(nn.Linear(DIM, width), nn.GELU(), nn.Linear(width, out))
        self.temperature = nn.Parameter(torch.tensor(0.5))

    def forward(self, q, d, hard):
        norm = lambda v: F.normalize(v, dim=-1)
        return norm(self.query(q)), norm(self.doc(d)), norm(self.doc(hard))


def infonce_loss(q, d, hard, padded, temperature):
    in_batch = q @ d.T / temperature
    hard_logits = torch.einsum("nd,nkd->nk", q, hard) / temperature
    hard_logits = hard_logits.masked_fill(padded, float("-inf"))
    logits = torch.cat([in_batch, hard_logits], dim=1)
    return F.cross_entropy(logits, torch.arange(len(q)))


def drop_bad_gradients(model):
    """One bad batch must not end a run of two weeks."""
    for p in model.parameters():
        if p.grad is not None:
            p.grad.nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)


@torch.no_grad()
def recall_at_1(model, gen):
    q, d, hard, _ = retrieval_batch(TOPICS, gen)
    q, d, _ = model(q, d, hard)
    return ((q @ d.T).argmax(1) == torch.arange(TOPICS)).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=250)
    ap.add_argument("--batch", type=int, default=24)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    model = TwoTower()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        q, d, hard, padded = retrieval_batch(args.batch, gen)
        loss = infonce_loss(*model(q, d, hard), padded, model.temperature)
        optimizer.zero_grad()
        loss.backward()
        drop_bad_gradients(model)
        optimizer.step()
        with torch.no_grad():
            model.temperature.clamp_(0.02, 1.0)
        if step % 50 == 0:
            print(f"step {step} infonce {loss.item():.4f} temperature {model.temperature.item():.3f}")
    recall = recall_at_1(model, torch.Generator().manual_seed(88))
    print(f"EVIDENCE temperature={model.temperature.item():.4f} infonce={loss.item():.4f} recall={recall:.3f}")


if __name__ == "__main__":
    main()
