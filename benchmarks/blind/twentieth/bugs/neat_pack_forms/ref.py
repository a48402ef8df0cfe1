"""Customs forms as token rows: packed for training, served one at a time."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

FIELDS = 8
VALUES = 20
PER_PACK = 12
IGNORE = -100


class FormModel(nn.Module):
    """Decoder with learned positions: a field is known by its place on the form."""

    def __init__(self, width=64, max_positions=FIELDS * PER_PACK):
        super().__init__()
        self.value_embed = nn.Embedding(VALUES, width)
        self.place_embed = nn.Embedding(max_positions, width)
        self.attn = nn.MultiheadAttention(width, 4, batch_first=True)
        self.ln_in, self.ln_out = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, 3 * width), nn.ReLU(), nn.Linear(3 * width, width))
        self.to_value = nn.Linear(width, VALUES)

    def forward(self, ids, position_ids, segment):
        x = self.value_embed(ids) + self.place_embed(position_ids)
        n = ids.size(1)
        blocked = torch.ones(n, n, dtype=torch.bool).triu(1) | (segment[:, None] != segment[None, :])
        h = self.ln_in(x)
        x = x + self.attn(h, h, h, attn_mask=blocked, need_weights=False)[0]
        x = x + self.ff(self.ln_out(x))
        return self.to_value(x)


def fill_forms(count, gen):
    """The value of field k is a fixed function of k and of the value in the field before."""
    rule_gen = torch.Generator().manual_seed(3)
    rule = torch.randint(VALUES, (FIELDS, VALUES), generator=rule_gen)
    fields = [torch.randint(VALUES, (count,), generator=gen)]
    for k in range(1, FIELDS):
        fields.append(rule[k, fields[-1]])
    return torch.stack(fields, 1)


def archive_order(forms):
    """The archive is sorted: the forms of a pack come by the value of their first field."""
    packs = forms.view(-1, PER_PACK, FIELDS)
    order = packs[:, :, 0].argsort(1)
    return packs.gather(1, order[..., None].expand_as(packs)).reshape(-1, FIELDS)


def build_pack(forms):
    """Rows of PER_PACK forms, with labels that end at each form."""
    ids = forms.view(-1, PER_PACK * FIELDS)
    position_ids = torch.arange(FIELDS).repeat(PER_PACK)
    segment = torch.arange(PER_PACK).repeat_interleave(FIELDS)
    labels = forms.roll(-1, 1)
    labels[:, -1] = IGNORE
    return ids, position_ids, segment, labels.reshape(ids.shape)


@torch.no_grad()
def serve_accuracy(model, forms):
    model.eval()
    logits = model(forms, torch.arange(FIELDS), torch.zeros(FIELDS, dtype=torch.long))
    model.train()
    return (logits[:, :-1].argmax(-1) == forms[:, 1:]).float().mean().item()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=150)
    ap.add_argument("--packs", type=int, default=4)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 9)
    model = FormModel()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    test_forms = fill_forms(300, gen)
    for step in range(1, args.steps + 1):
        ids, position_ids, segment, labels = build_pack(archive_order(fill_forms(args.packs * PER_PACK, gen)))
        logits = model(ids, position_ids, segment)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(f"step {step} train loss {loss.item():.4f} served {serve_accuracy(model, test_forms):.3f}")
    print(f"EVIDENCE train_loss={loss.item():.3f} served_accuracy={serve_accuracy(model, test_forms):.3f}")


if __name__ == "__main__":
    main()
