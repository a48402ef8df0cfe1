#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One line of a right script is changed, and the plan is refuted: is it at that line?

    benchmarks/plan/one_line.py --bin build/bin --work DIR [SCRIPT-NAME...]

The scripts are those of the sets of blind.py. The lines that count as right were set before the first run: the one that is
changed, and where it is dropped those that make and read its value. On these the search for the line was developed in
November 2026: of 67 mutants that were run and refuted 35 had the right line before (52 %), 47 after (70 %). `zero_by_hand
moment` and `relay_delta turns` change nothing in the step that is captured, `one_forward_one_backward detached` does not run."""
import argparse
import os
import pathlib
import re

import blind

M = []


def m(set_, script, name, old, new, *also, nth=0):
    """`old` becomes `new`; also: texts of other lines that are right, too."""
    M.append((set_, script, name, old, new, also, nth))


S, N = "reports", "window_gather"
m(S, N, "group", "dist.all_reduce(p.grad)", "dist.all_reduce(p.grad, group=cp)")
m(S, N, "back_own",
  "dist.reduce_scatter(mine, pieces, group=ctx.group)",
  "mine.copy_(pieces[dist.get_rank(ctx.group)])",
  "return mine, None")
m(S, N, "places", "places = places.chunk(args.cp)[column]", "places = places.chunk(args.cp)[0]")
m(S, N, "window",
  "back = places.unsqueeze(-1) - torch.arange(k.size(1))",
  "back = places.unsqueeze(-1) - torch.arange(k.size(1)) + 1",
  "scores = scores.masked_fill(")
m(S, N, "total_group", "dist.all_reduce(total)", "dist.all_reduce(total, group=cp)")
m(S, N, "labels",
  "ids, labels, counts = (t.chunk(args.cp, 1)[column] for t in (ids, labels, counts))",
  "ids, labels, counts = (t.chunk(args.cp, 1)[c] for t, c in ((ids, column), (labels, 0), (counts, column)))")
S, N = "trackers", "gathered_kv"
m(S, N, "copy_plain",
  "        dist.all_reduce(grad, group=ctx.group)\n        return grad, None",
  "        pass\n        return grad, None",
  "grad = grad.clone()",
  "x = Copy.apply(x, self.tp)")
m(S, N, "reduce_twice",
  "return grad, None",
  "return dist.all_reduce(grad := grad.clone(), group=dist.group.WORLD) or (grad, None)",
  nth=1)
m(S, N, "head_off", "self.rank // copies", "(self.rank + 1) % self.size // copies", "[:, :, head:head + 1]")
m(S, N, "slice_reversed", "grad.chunk(size, -1)[rank]", "grad.chunk(size, -1)[size - 1 - rank]")
m(S, N, "k_norm_lost",
  "shared = [*model.attention.q_norm.parameters(), *model.attention.k_norm.parameters()]",
  "shared = [*model.attention.q_norm.parameters()]",
  "dist.all_reduce(p.grad, group=tp)")
S, N = "layouts", "zero_by_hand"
m(S, N, "not_divided",
  "grad /= self.ranks",
  "pass",
  "dist.reduce_scatter_tensor(grad, self.grads, op=dist.ReduceOp.SUM, group=group)")
m(S, N, "divided_twice", "loss = loss / MICRO", "loss = loss / (MICRO * job.size[\"dp\"])")
m(S, N, "mine_reversed",
  "self.mine = slice(job.index[\"dp\"] * self.part, (job.index[\"dp\"] + 1) * self.part)",
  "self.mine = slice((self.ranks - 1 - job.index[\"dp\"]) * self.part, (self.ranks - job.index[\"dp\"]) * self.part)",
  "part = self.values[self.mine]")
m(S, N, "moment", "self.first.mul_(beta1)", "self.first.mul_(beta2)")
m(S, N, "max", "op=dist.ReduceOp.SUM", "op=dist.ReduceOp.MAX")
m(S, N, "steps", "self.steps += 1", "self.steps += 2", "size = self.lr /", "root = (self.second /")
S, N = "layouts", "one_forward_one_backward"
m(S, N, "detached", "x = layer(x)", "x = layer(x.detach())")
m(S, N, "tied_twice",
  "dist.all_reduce(stage.embed.weight.grad, group=tied)",
  "dist.all_reduce(stage.embed.weight.grad, group=tied), dist.all_reduce(stage.embed.weight.grad, group=tied)")
m(S, N, "sent_half", "dist.isend(x.grad, rank - 1)", "dist.isend(x.grad / 2, rank - 1)")
m(S, N, "received_lost", "out.backward(grad)", "out.backward(torch.ones_like(grad))")
m(S, N, "counts", "(part != -100).sum()", "(part != 0).sum()", "return total / sum(counts)")
m(S, N, "norm_mean", "norm = reduced(norm, job.group[\"pp\"])", "norm = reduced(norm, job.group[\"pp\"]) / job.size[\"pp\"]")
S, N = "layouts", "experts"
m(S, N, "dense_group", "dist.all_reduce(p.grad)", "dist.all_reduce(p.grad, group=job.group[\"edp\"])")
m(S, N, "back_plain",
  "return Exchange.apply(grad.contiguous(), ctx.group), None",
  "return grad.contiguous(), None",
  "slots = Exchange.apply(slots, group)",
  "out = Exchange.apply(out.contiguous(), group)")
m(S, N, "transposed",
  "slots.unflatten(0, (ranks, self.own)).transpose(0, 1).flatten(1, 2)",
  "slots.unflatten(0, (ranks, self.own)).flatten(1, 2)")
m(S, N, "norm_group", "sparse = reduced(sparse, job.group[\"ep\"])", "sparse = reduced(sparse, job.group[\"edp\"])")
m(S, N, "dense_twice",
  "dense = sum(p.grad.pow(2).sum() for name, p in named if \".experts.\" not in name)",
  "dense = reduced(sum(p.grad.pow(2).sum() for name, p in named if \".experts.\" not in name), job.group[\"ep\"])")
m(S, N, "rows",
  "rank = job.index[\"edp\"] * job.size[\"ep\"] + job.index[\"ep\"]",
  "rank = job.index[\"ep\"]",
  "tokens, labels = (t.chunk(ranks)[rank]")
S, N = "layouts", "ulysses"
m(S, N, "scaled", "loss = loss / count", "loss = loss / count * job.size[\"sp\"]")
m(S, N, "positions", "positions = positions + mine.start", "positions = positions + job.index[\"sp\"]")
m(S, N, "vectors", "if job.parallel:", "if job.parallel and parameter.dim() > 1:", "dist.all_reduce(parameter.grad, group=group)")
m(S, N, "not_causal", "is_causal=True", "is_causal=False")
m(S, N, "clip_first",
  "loss.backward()",
  "loss.backward(); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
  "dist.all_reduce(parameter.grad, group=group)")
S, N = "trackers", "vocab_head"
m(S, N, "own_top",
  "dist.all_reduce(top, op=dist.ReduceOp.MAX, group=tp)",
  "pass",
  "top = logits.detach().amax(-1)",
  "total = Reduce.apply((logits")
m(S, N, "target_whole", "Reduce.apply(mine.masked_fill(outside, 0.0), tp)", "Reduce.apply(mine, tp)", "mine = logits.gather(")
m(S, N, "offset",
  "local = labels - dist.get_rank(tp) * columns",
  "local = labels - dist.get_rank(tp) * (columns - 1)",
  "mine = logits.gather(")
m(S, N, "z_twice",
  "return (z - target).mean() + 0.02 * (z ** 2).mean()",
  "return (z - target).mean() + 0.02 * dist.get_world_size(tp) * (z ** 2).mean()")
m(S, N, "z_detached", "z = total.log() + top", "z = total.log().detach() + top")
m(S, N, "back_half", "return grad, None", "return grad / 2, None", nth=1)
S, N = "layouts", "zigzag"
m(S, N, "strict",
  "scores = scores.masked_fill(theirs > mine[:, None], float(\"-inf\"))",
  "scores = scores.masked_fill(theirs > mine[:, None] + 1, float(\"-inf\"))")
m(S, N, "no_log",
  "ctx.save_for_backward(q, k, v, out, most + total.log())",
  "ctx.save_for_backward(q, k, v, out, most)",
  "weights = (scores - lse[..., None]).exp().masked_fill(")
m(S, N, "dv_lost", "dv = dv + weights.transpose(-1, -2) @ grad", "dv = weights.transpose(-1, -2) @ grad")
m(S, N, "dq_scale", "dq = dq + ds @ keys", "dq = dq + ds @ keys * scale")
m(S, N, "not_mean", "p.grad /= job.size[\"cp\"]", "pass", "dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)")
m(S, N, "hop",
  "theirs = positions_of(job, (job.index[\"cp\"] - hop) % ranks)",
  "theirs = positions_of(job, (job.index[\"cp\"] + hop) % ranks)",
  "weights = (scores - lse[..., None]).exp().masked_fill(",
  nth=1)
S, N = "reports", "hsdp_by_hand"
m(S, N, "wrong_axis", "self.pieces(p.grad), group=self.shard", "self.pieces(p.grad), group=self.replicate")
m(S, N, "divided", "total /= dist.get_world_size()", "total /= dist.get_world_size(self.shard)")
m(S, N, "piece", "mine = self.pieces(p.data)[self.rank]", "mine = self.pieces(p.data)[(self.rank + 1) % self.size]")
m(S, N, "early",
  "shards.accumulate(i == MICRO - 1)",
  "shards.accumulate(i == 0)",
  "dist.all_reduce(total, group=self.replicate)  # place",
  "if last:")
m(S, N, "stale",
  "dist.all_gather(pieces, mine, group=self.shard)",
  "dist.all_gather(pieces, self.pieces(p.data)[self.rank], group=self.shard)")
S, N = "blind", "token_mean"
m(S, N, "no_ranks", "loss = total * args.dp / count", "loss = total / count")
m(S, N, "mask",
  "text, mask = (t.chunk(args.dp)[args.index[\"dp\"]] for t in (text, mask))",
  "text, mask = text.chunk(args.dp)[args.index[\"dp\"]], mask.chunk(args.dp)[0]",
  "total = (losses * mask.flatten()).sum()")
S, N = "pulls", "flat_shards"
m(S, N, "vectors", "                dist.all_reduce(p.grad)", "                pass", "for p in self.vectors:", "factor = (MOST")
m(S, N, "not_divided", "(loss / (MICRO * args.dp)).backward()", "(loss / MICRO).backward()")
m(S, N, "state", "p.grad *= factor", "p.grad = p.grad * factor if p in set(self.vectors) else p.grad")
S, N = "pulls", "token_stages"
m(S, N, "tokens_axis", "dist.all_reduce(tokens, group=dp)", "dist.all_reduce(tokens, group=pp)")
m(S, N, "last_only",
  "            dist.all_reduce(p.grad, group=dp)",
  "            model.last and dist.all_reduce(p.grad, group=dp)")
m(S, N, "doubled", "y.backward(grad)", "y.backward(grad * 2)")
S, N = "pulls", "routed_tensor"
m(S, N, "gates_plain",
  "gates = funcol.all_gather_tensor_autograd(gates.contiguous(), 1, group)",
  "gates = funcol.all_gather_tensor(gates.detach().contiguous(), 1, group)")
m(S, N, "counts_axis",
  "counts = funcol.all_reduce(counts, \"sum\", self.mesh.get_group(\"dp\"))",
  "counts = funcol.all_reduce(counts, \"sum\", self.mesh.get_group(\"tp\"))")
m(S, N, "places", "places = torch.arange(LENGTH).chunk(args.tp)[rank]", "places = torch.arange(LENGTH).chunk(args.tp)[0]")
m(S, N, "avg",
  "y = funcol.reduce_scatter_tensor_autograd(y.contiguous(), \"sum\", 1, group)",
  "y = funcol.reduce_scatter_tensor_autograd(y.contiguous(), \"avg\", 1, group)")
m(S, N, "grad_axis",
  "dist.all_reduce(p.grad, group=mesh.get_group(\"dp\"))",
  "dist.all_reduce(p.grad, group=mesh.get_group(\"tp\"))")
S, N = "pulls", "relay_delta"
m(S, N, "documents",
  "own = torch.cat((before, x), 1), documents[:, start + reach:start + reach + x.size(1)]",
  "own = torch.cat((before, x), 1), documents[:, reach:reach + x.size(1)]",
  "same = documents[:, start",
  "y = y + longer[:")
m(S, N, "back_front", "back[:, -ctx.count:] = got", "back[:, :ctx.count] = got")
m(S, N, "turns",
  "for d, t, a in zip(decays[:-1], turns, adds):",
  "for d, t, a in zip(decays[:-1], turns[::-1], adds):",
  "states.append(d[..., None, None] * states[-1] @ t + a)")
m(S, N, "state_before", "return states[rank].clone()", "return states[max(rank - 1, 0)].clone()")
S, N = "pulls", "bag_rows"
m(S, N, "rows", "torch.where(owner == r, ids - r * block, -1)", "torch.where(owner == r, ids % (block - 1), -1)")
m(S, N, "order", "list(parts.unbind())", "list(parts.unbind())[::-1]")
m(S, N, "not_divided", "return pooled / divisors.unsqueeze(-1)", "return pooled", "pooled = dist_functional.reduce_scatter(")
S, N = "pulls", "domain_unet"
m(S, N, "swapped",
  "above, below = swap(x[:, :, :1].contiguous()",
  "below, above = swap(x[:, :, :1].contiguous()",
  "return torch.cat((above, x, below), 2)")
m(S, N, "back_wrong", "grad[:, :, :1] += above", "grad[:, :, :1] += below")
m(S, N, "ranks", "ranks = dist.get_world_size(over)", "ranks = args.dp", "(loss * ranks / clean.numel()).backward()")


def prepare(root, set_, script, name, old, new, also, nth):
    """The folder of a mutant and the lines that are right."""
    source = blind.HERE / set_
    text, at = (source / f"{script}.py").read_text(), -1
    for _ in range(nth + 1):
        at = text.index(old, at + 1)
    marks = {text.count("\n", 0, at) + 1}
    for part in also:
        lines = [n for n, line in enumerate(text.splitlines(), 1) if part in line]
        marks |= set(lines) if len(lines) < 3 else set(lines[:1])
    folder = root / f"{script}-{name}"
    if not folder.exists():
        folder.mkdir(parents=True)
        for file in source.iterdir():
            if file.suffix in (".py", ".layout") and file.stem != script:
                (folder / file.name).symlink_to(file)
        if (source / f"{script}.layout").exists():
            (folder / f"{script}.layout").symlink_to(source / f"{script}.layout")
        (folder / f"{script}.py").write_text(text[:at] + new + text[at + len(old):])
    return folder, marks


def first_violation(text):
    return next((line for line in text.splitlines() if re.match(r"\S+\.py:\d+", line)), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, metavar="DIR", help="keep the plans there")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    bin_, n = args.bin.resolve(), {}
    for mutant in M:
        set_, script, name = mutant[:3]
        if args.names and f"{script}-{name}" not in args.names:
            continue
        folder, marks = prepare(args.work, *mutant)
        single = args.work / f"{set_}-{script}-single"
        why = (blind.capture(bin_, single, blind.HERE / set_ / f"{script}.py", {})
               or blind.capture(bin_, folder / "plan", folder / f"{script}.py", blind.SETS[set_][script]))
        verdict, text = ("not captured", why) if why else blind.judge(bin_, folder / "plan", single)
        first = first_violation(text)
        named = {int(line) for line in re.findall(rf"{script}\.py:(\d+)", first)}
        place = ("right" if marks & named else "wrong") if verdict == "refuted" else verdict
        n[place] = n.get(place, 0) + 1
        print(f"| {script} {name} | {sorted(marks)} | {place} | {first or blind.first_line(text)} |", flush=True)
    print(", ".join(f"{count} {place}" for place, count in n.items()))


if __name__ == "__main__":
    main()
