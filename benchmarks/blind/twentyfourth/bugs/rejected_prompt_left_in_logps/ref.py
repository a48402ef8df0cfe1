"""DPO on a tiny decoder: a short supervised phase, then preference pairs against a frozen copy."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, SEP, EOS, FIRST = 0, 1, 2, 3, 4
VOCAB, MAX_LEN = 20, 18


def make_pairs(count, gen):
    """The prompt counts upwards; the chosen answer goes on counting, the rejected one counts downwards."""
    pairs = []
    for _ in range(count):
        n = int(torch.randint(3, 7, (1,), generator=gen))
        start = int(torch.randint(0, 16, (1,), generator=gen))
        prompt = [BOS] + [FIRST + (start + i) % 16 for i in range(n)] + [SEP]
        last = start + n - 1
        chosen = [FIRST + (last + i) % 16 for i in range(1, 5)] + [EOS]
        rejected = [FIRST + (last - i) % 16 for i in range(1, 5)] + [EOS]
        pairs.append((prompt, chosen, rejected))
    return pairs


class TinyDecoder(nn.Module):
    def __init__(self, width=48, heads=4, layers=2):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, width), nn.Embedding(MAX_LEN, width)
        block = nn.TransformerEncoderLayer(width, heads, 3 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCAB, bias=False)

    def forward(self, ids):
        n = ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        x = self.tok(ids) + self.pos(torch.arange(n))
        return self.head(self.norm(self.blocks(x, mask=mask, is_causal=True)))


def pad_rows(rows):
    width = max(len(r) for r in rows)
    return torch.tensor([r + [PAD] * (width - len(r)) for r in rows])


def token_logps(model, ids):
    return model(ids)[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)


class DPOTrainer:
    def __init__(self, model, ref_model, lr, beta=0.3):
        self.model, self.ref_model, self.beta = model, ref_model.eval().requires_grad_(False), beta
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def get_batch_logps(self, model, ids, prompt_id_lens):
        loss_masks = (ids != PAD).float()
        for mask, source_len in zip(loss_masks, prompt_id_lens):
            mask[:source_len] = 0
        return (token_logps(model, ids) * loss_masks[:, 1:]).sum(-1)

    def concatenated_forward(self, model, batch):
        """Chosen rows first, then rejected ones, in one pass."""
        rows = [p + c for p, c, _ in batch] + [p + r for p, _, r in batch]
        prompt_id_lens = [len(p) for p, _, _ in batch]
        logps = self.get_batch_logps(model, pad_rows(rows), prompt_id_lens * 2)
        return logps[:len(batch)], logps[len(batch):]

    def training_step(self, batch):
        chosen, rejected = self.concatenated_forward(self.model, batch)
        with torch.no_grad():
            ref_chosen, ref_rejected = self.concatenated_forward(self.ref_model, batch)
        margin = (chosen - ref_chosen) - (rejected - ref_rejected)
        loss = -F.logsigmoid(self.beta * margin).mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item(), (margin > 0).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--steps", type=int, default=40)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = TinyDecoder()
    warm = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):                       # supervised start: both kinds of answers
        ids = pad_rows([p + (c if i % 2 else r) for i, (p, c, r) in enumerate(make_pairs(32, gen))])
        loss = -(token_logps(model, ids) * (ids[:, 1:] != PAD)).sum() / (ids[:, 1:] != PAD).sum()
        warm.zero_grad()
        loss.backward()
        warm.step()
    trainer = DPOTrainer(model, copy.deepcopy(model), args.lr)
    for step in range(args.steps):
        loss, accuracy = trainer.training_step(make_pairs(24, gen))
        if step % 10 == 0:
            print(f"step {step} dpo_loss {loss:.4f} accuracy {accuracy:.2f}")
    held_out = make_pairs(64, torch.Generator().manual_seed(999))
    prompts = pad_rows([p for p, _, _ in held_out])
    with torch.no_grad():
        keep = (prompts[:, 1:] != PAD).float()
        now, before = [(token_logps(m, prompts) * keep).sum() / keep.sum() for m in (model, trainer.ref_model)]
    print(f"EVIDENCE prompt_logp_change={(now - before).item():.4f} dpo_loss={loss:.4f}")


if __name__ == "__main__":
    main()
