"""ORPO: one model, no reference. Loss = NLL of the chosen answer + lambda * odds ratio of chosen and rejected answers."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, END = 0, 1, 2
COLOURS, VOCAB = 9, 12
PROMPT = 5


class TinyLM(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, num_layers=2, batch_first=True)
        self.out = nn.Linear(width, VOCAB)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])


def sample_pairs(n, gen):
    """Prompt: colours. Chosen: the same colours sorted, said once or twice. Rejected: unsorted, often longer."""
    prompts = torch.randint(3, VOCAB, (n, PROMPT - 1), generator=gen)
    chosen, rejected = [], []
    for p in prompts:
        good = p.sort().values.tolist()
        bad = p[torch.randperm(PROMPT - 1, generator=gen)].tolist()
        chosen.append(good * int(torch.randint(1, 3, (1,), generator=gen)) + [END])
        rejected.append(bad * int(torch.randint(1, 4, (1,), generator=gen)) + [END])
    return torch.cat([torch.full((n, 1), BOS), prompts], 1), chosen, rejected


def concatenated(prompts, chosen, rejected):
    answers = chosen + rejected
    width = max(map(len, answers))
    tail = torch.tensor([a + [PAD] * (width - len(a)) for a in answers])
    ids = torch.cat([prompts.repeat(2, 1), tail], dim=1)
    labels = ids.clone()
    labels[:, :PROMPT] = -100
    labels[ids == PAD] = -100
    return ids, labels


class ORPOTrainer:
    def __init__(self, model, optimizer, lam):
        self.model, self.optimizer, self.lam = model, optimizer, lam

    def batch_logps(self, logits, labels):
        labels = labels[:, 1:]
        valid = labels != -100
        per_token = logits[:, :-1].log_softmax(-1).gather(2, labels.clamp(min=0)[..., None]).squeeze(-1)
        return (per_token * valid).sum(-1), valid.sum(-1)

    def concatenated_forward(self, ids, labels):
        all_logps, lengths = self.batch_logps(self.model(ids), labels)
        all_logps = all_logps / lengths                 # odds are those of the mean token
        half = len(ids) // 2
        return all_logps[:half], all_logps[half:], all_logps[:half]

    def odds_ratio_loss(self, chosen, rejected):
        log_odds = (chosen - rejected) - (torch.log1p(-chosen.exp()) - torch.log1p(-rejected.exp()))
        return -F.logsigmoid(log_odds)

    def compute_loss(self, ids, labels):
        chosen, rejected, chosen_avg = self.concatenated_forward(ids, labels)
        sft = -chosen_avg
        ratio = self.odds_ratio_loss(chosen, rejected)
        metrics = {"sft": sft.mean().item(), "or": ratio.mean().item(), "acc": (chosen > rejected).float().mean().item()}
        return (sft + self.lam * ratio).mean(), metrics

    def step(self, batch):
        self.model.train()
        loss, metrics = self.compute_loss(*concatenated(*batch))
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item(), metrics


def nll(model, batch):
    ids, labels = concatenated(*batch)
    ids, labels = ids[:len(ids) // 2], labels[:len(labels) // 2]
    with torch.no_grad():
        return F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100).item()


def main(argv=None):
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=150)
    ap.add_argument("--lam", type=float, default=0.2)
    args = ap.parse_args(argv)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = TinyLM()
    trainer = ORPOTrainer(model, torch.optim.AdamW(model.parameters(), lr=args.lr), args.lam)
    held = sample_pairs(128, torch.Generator().manual_seed(77))
    first = None
    for i in range(args.steps):
        loss, metrics = trainer.step(sample_pairs(32, gen))
        first = metrics["sft"] if first is None else first
        if i % 50 == 49:
            print(f"step {i + 1}: loss {loss:.4f} " + " ".join(f"{k} {v:.3f}" for k, v in metrics.items()))
    print(f"EVIDENCE first_sft={first:.4f} held_out_nll={nll(model, held):.4f} sft={metrics['sft']:.4f}")


if __name__ == "__main__":
    main()
