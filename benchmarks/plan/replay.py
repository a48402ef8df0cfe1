#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run plans in float64: each operator by torch's own kernel, each rank as a process, collectives by gloo.

    benchmarks/plan/replay.py SINGLE PARALLEL          how far the parallel plan's results are from the single-device ones
    benchmarks/plan/replay.py --only PARALLEL OTHER    how far the results of two parallel plans are from each other

It shares nothing with the verifier: what it finds equal or different, it finds with floating-point numbers. Tensors of one
name start from the same random numbers in all plans."""
import argparse
import hashlib
import json
import math
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.distributed.fsdp  # noqa: F401  registers its operators

SPREAD = 0.3    # standard deviation of parameters
TIMEOUT = 120.0  # seconds for a plan


class ReplayError(Exception):
    """A plan that torch cannot run."""


def dtype_of(name):
    dtype = getattr(torch, name)
    return torch.float64 if dtype.is_floating_point else dtype


def start_of(name, kind, size):
    """Random numbers for a whole tensor; states and buffers are positive, as variances are."""
    seed = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=6).digest(), "little")
    made = torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * SPREAD
    return made if kind in ("param", "input") or name.endswith(".grad") else made.abs() + 0.01


def pieces_of(place, size):
    """(slices of the tensor, slices of the whole) of a PLACE; None for the stretch of a flat one."""
    if "flat" in place:
        return None
    rows = place.get("pieces") or [[[0] * len(size), size, place["at"]]]
    return [(tuple(slice(a, a + n) for a, n in zip(here, length)), tuple(slice(a, a + n) for a, n in zip(there, length)))
            for here, length, there in rows]


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def plans_of(folder):
    """The lines of each rank."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("plan-*.jsonl")):
        lines = read(path)
        if "like" in lines[0]:
            raise ReplayError("retargeted ranks are not run")
        found[lines[0]["rank"]] = lines
    return [found[rank] for rank in sorted(found)]


def grouped_mm(a, b, offs):
    """aten._grouped_mm, which torch has for float32 and less: groups of rows, or of what is summed over, end at offs."""
    ends = offs.tolist()
    groups = list(zip([0, *ends[:-1]], ends))
    if a.dim() == 2 and b.dim() == 3:
        return torch.cat([a[start:end] @ b[i] for i, (start, end) in enumerate(groups)])
    if a.dim() == 3:
        return torch.cat([a[i] @ b[:, start:end] for i, (start, end) in enumerate(groups)], 1)
    return torch.stack([a[:, start:end] @ b[start:end] for start, end in groups])


def tensors_of(value):
    """All tensor references within a value."""
    if isinstance(value, list) and value and value[0] == "t" and len(value) == 6:
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from tensors_of(part)


def groups_of(plans):
    """Groups of ranks that any plan names, in one order."""
    found = {tuple(range(len(plans)))}
    for lines in plans:
        for line in lines:
            for value in line.get("a", {}).values():
                if isinstance(value, list) and value[:1] == ["pg"]:
                    found.add(tuple(value[1]))
    return sorted(found)


class Memory:
    """The storages of one rank."""

    def __init__(self, lines):
        self.sizes, self.dtypes, self.storages = {}, {}, {}
        for line in lines:
            if "const" in line:
                self._grow(line["const"], line["n"], line["dtype"])
            for _, storage, offset, size, stride, dtype in tensors_of(line):
                last = offset + sum((n - 1) * step for n, step in zip(size, stride)) + 1 if 0 not in size else 0
                self._grow(storage, last, dtype)
        for storage, size in self.sizes.items():
            fill = math.nan if self.dtypes[storage].is_floating_point else 0  # what was never written shows
            self.storages[storage] = torch.full((size,), fill, dtype=self.dtypes[storage])

    def _grow(self, storage, size, dtype):
        self.sizes[storage] = max(self.sizes.get(storage, 0), size)
        self.dtypes.setdefault(storage, dtype_of(dtype))

    def view(self, reference):
        _, storage, offset, size, stride, dtype = reference
        whole = self.storages[storage]
        wanted = dtype_of(dtype)
        return torch.as_strided(whole if whole.dtype == wanted else whole.view(wanted), size, stride, offset)


class Rank:
    """Runs one plan; the process group of gloo is there already."""

    def __init__(self, lines, groups):
        self.lines, self.groups = lines, groups
        self.memory = Memory(lines)
        self.head = lines[0]
        self.pending, self.sent = {}, []

    def run(self):
        for line in self.lines:
            if "const" in line:
                self._const(line)
        for line in self.lines:
            if "init" in line:
                self._init(line)
        for line in self.lines:
            if "op" in line:
                self._op(line)
        for work, _ in self.sent:
            work.wait()
        return [self._result(line) for line in self.lines if "result" in line]

    def _const(self, line):
        data = torch.tensor([float(x) if isinstance(x, str) else x for x in line["data"]])
        whole = self.memory.storages[line["const"]]
        whole[:line["n"]] = data.to(whole.dtype).expand(line["n"]) if len(data) == 1 else data.to(whole.dtype)

    def _init(self, line):
        tensor = self.memory.view(line["t"])
        if "data" in line:
            tensor.copy_(torch.tensor(line["data"]).view(tensor.shape))
            return
        whole = start_of(line["name"], line["init"], line["global"])
        pieces = pieces_of(line, list(tensor.shape))
        if pieces is None:
            tensor.copy_(whole.flatten()[line["flat"]:line["flat"] + tensor.numel()])
        for here, there in pieces or ():
            tensor[here] = whole[there]

    def _result(self, line):
        self._await(line["t"][1])
        return {**line, "value": self.memory.view(line["t"]).clone()}

    # ---- operators

    def _await(self, storage):
        for work, buffer, tensor in self.pending.pop(storage, ()):
            work.wait()
            tensor.copy_(buffer)

    def _op(self, line):
        name, arguments = line["op"], line["a"]
        for reference in tensors_of([arguments, line["out"]]):
            if not name.startswith("c10d.recv"):
                self._await(reference[1])
        try:
            if name.startswith("c10d."):
                getattr(self, "_c10d_" + name.split(".")[1].strip("_"))(arguments, line)
            elif name.startswith("_c10d_functional."):
                self._functional(name.split(".")[1], arguments, line)
            elif name == "fsdp.all_gather_copy_in.default":
                parts = [self.memory.view(r).flatten() for r in arguments["all_gather_inputs"]]
                self.memory.view(line["out"][0]).copy_(torch.cat(parts))
            elif name != "aten._local_scalar_dense.default":
                self._kernel(name, arguments, line)
        except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            raise ReplayError(f"{name} ({line['src'][0]}): {error}") from error

    def _decode(self, value):
        if isinstance(value, list):
            if value[:1] == ["t"] and len(value) == 6:
                return self.memory.view(value)
            return [self._decode(part) for part in value]
        if not isinstance(value, str):
            return value
        if value in ("inf", "-inf", "nan"):
            return float(value)
        known = getattr(torch, value, None)
        if isinstance(known, torch.dtype):
            return dtype_of(value)
        return known if isinstance(known, (torch.layout, torch.memory_format)) else value

    def _kernel(self, name, arguments, line):
        space, short, overload = name.split(".")
        kernel = getattr(getattr(getattr(torch.ops, space), short), overload)
        args, kwargs, written = [], {}, 0
        for argument in kernel._schema.arguments:
            value = self._decode(arguments[argument.name]) if argument.name in arguments else argument.default_value
            if argument.alias_info is not None and argument.alias_info.is_write:
                written += len(value) if isinstance(value, (list, tuple)) else value is not None
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        if "rng" in line:
            torch.manual_seed(sum(line["rng"]) % 2 ** 62)
        made = grouped_mm(*args[:3]) if name == "aten._grouped_mm.default" else kernel(*args, **kwargs)
        made = [t for part in (made if isinstance(made, (list, tuple)) else [made])
                for t in (part if isinstance(part, (list, tuple)) else [part])]
        outs = line["out"]
        if written:
            outs, made = outs[written:], made[-(len(outs) - written):] if len(outs) > written else []
        for reference, tensor in zip(outs, made):
            if reference is not None and tensor is not None:
                self.memory.view(reference).copy_(tensor)

    # ---- collectives

    def _group(self, arguments):
        ranks = next(v[1] for v in arguments.values() if isinstance(v, list) and v[:1] == ["pg"])
        return ranks, self.groups[tuple(ranks)]

    def _reduced(self, tensor, arguments, op):
        """A sum (or else) over the group, in a tensor of its own."""
        ranks, group = self._group(arguments)
        made = tensor.contiguous().clone()
        kind = op.split(":")[0]
        if kind == "premul_sum":
            made *= float(op.split(":")[1])
        known = {"min": dist.ReduceOp.MIN, "max": dist.ReduceOp.MAX, "prod": dist.ReduceOp.PRODUCT}
        dist.all_reduce(made, known.get(kind, dist.ReduceOp.SUM), group=group)
        return made / len(ranks) if kind == "avg" else made

    def _gathered(self, tensor, arguments):
        ranks, group = self._group(arguments)
        made = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in ranks]
        dist.all_gather(made, tensor.contiguous(), group=group)
        return made

    def _my_place(self, arguments):
        return self._group(arguments)[0].index(self.head["rank"])

    def _c10d_allreduce(self, arguments, line):
        for reference in arguments["tensors"]:
            tensor = self.memory.view(reference)
            tensor.copy_(self._reduced(tensor, arguments, arguments["reduce_op"]))

    _c10d_allreduce_coalesced = _c10d_allreduce

    def _c10d_broadcast(self, arguments, line):
        ranks, group = self._group(arguments)
        tensor = self.memory.view(arguments["tensors"][0])
        made = tensor.contiguous().clone()
        dist.broadcast(made, ranks[arguments["root_rank"]], group=group)
        tensor.copy_(made)

    def _c10d_allgather(self, arguments, line):
        for outs, given in zip(arguments["output_tensors"], arguments["input_tensors"]):
            for out, made in zip(outs, self._gathered(self.memory.view(given), arguments)):
                self.memory.view(out).copy_(made)

    def _c10d_allgather_base(self, arguments, line):
        made = self._gathered(self.memory.view(arguments["input_tensor"]), arguments)
        out = self.memory.view(arguments["output_tensor"])
        out.copy_(torch.stack(made).reshape(out.shape))

    def _c10d_reduce_scatter_base(self, arguments, line):
        made = self._reduced(self.memory.view(arguments["input_tensor"]), arguments, arguments["reduce_op"])
        out = self.memory.view(arguments["output_tensor"])
        out.copy_(made.flatten().chunk(len(self._group(arguments)[0]))[self._my_place(arguments)].view(out.shape))

    def _c10d_reduce_scatter(self, arguments, line):
        for out, parts in zip(arguments["output_tensors"], arguments["input_tensors"]):
            made = [self._reduced(self.memory.view(part), arguments, arguments["reduce_op"]) for part in parts]
            self.memory.view(out).copy_(made[self._my_place(arguments)])

    def _exchanged(self, tensor, arguments, to, of):
        """All-to-all of rows: `to` each rank so many, `of` each so many."""
        ranks, group = self._group(arguments)
        n = len(ranks)
        to, of = to or [tensor.shape[0] // n] * n, of or [tensor.shape[0] // n] * n
        whole = [torch.empty(0)] * n
        dist.all_gather_object(whole, (tensor.contiguous(), to), group=group)
        mine = self._my_place(arguments)
        return torch.cat([given.split(sizes)[mine] for given, sizes in whole])

    def _c10d_alltoall_base(self, arguments, line):
        out = self.memory.view(arguments["output"])
        made = self._exchanged(self.memory.view(arguments["input"]), arguments, arguments.get("input_split_sizes"),
                               arguments.get("output_split_sizes"))
        out.copy_(made.view(out.shape))

    def _c10d_alltoall(self, arguments, line):
        whole = [None] * len(self._group(arguments)[0])
        given = [self.memory.view(t).contiguous() for t in arguments["input_tensors"]]
        dist.all_gather_object(whole, given, group=self._group(arguments)[1])
        for out, row in zip(arguments["output_tensors"], whole):
            self.memory.view(out).copy_(row[self._my_place(arguments)])

    def _c10d_barrier(self, arguments, line):
        dist.barrier(group=self._group(arguments)[1])

    def _tag(self, arguments):
        return arguments.get("tag", 0) + 1000 * sorted(self.groups).index(tuple(self._group(arguments)[0]))

    def _c10d_send(self, arguments, line):
        for reference in arguments["tensors"]:
            given = self.memory.view(reference).contiguous().clone()
            self.sent.append((dist.isend(given, self._group(arguments)[0][arguments["dst"]], tag=self._tag(arguments)), given))

    def _c10d_recv(self, arguments, line):
        for reference in arguments["tensors"]:
            tensor = self.memory.view(reference)
            buffer = torch.empty_like(tensor, memory_format=torch.contiguous_format)
            work = dist.irecv(buffer, self._group(arguments)[0][arguments["src"]], tag=self._tag(arguments))
            self.pending.setdefault(reference[1], []).append((work, buffer, tensor))

    def _functional(self, short, arguments, line):
        tensor = self.memory.view(arguments.get("input", arguments.get("self")))
        if short.startswith("all_reduce"):
            made = self._reduced(tensor, arguments, arguments["reduce_op"])
        elif short.startswith("all_gather_into_tensor"):
            made = torch.cat(self._gathered(tensor, arguments))
        elif short.startswith("reduce_scatter_tensor"):
            made = self._reduced(tensor, arguments, arguments["reduce_op"])
            made = made.chunk(len(self._group(arguments)[0]))[self._my_place(arguments)]
        elif short.startswith("all_to_all_single"):
            made = self._exchanged(tensor, arguments, arguments.get("input_split_sizes"), arguments.get("output_split_sizes"))
        elif short.startswith("broadcast"):
            made = tensor.contiguous().clone()
            dist.broadcast(made, arguments["src"], group=self._group(arguments)[1])
        else:
            raise ReplayError(f"_c10d_functional.{short}: not known here")
        for reference in line["out"]:
            self.memory.view(reference).copy_(made)


# ---- processes

def _be_rank(rank, plans, folder):
    torch.set_num_threads(1)
    world = len(plans)
    try:
        dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/store", world), rank=rank, world_size=world)
        groups = {ranks: dist.new_group(list(ranks)) for ranks in groups_of(plans)}
        with torch.no_grad():
            results = Rank(plans[rank], groups).run()
        dist.barrier()
    except (ReplayError, RuntimeError, ValueError) as error:
        results = f"{type(error).__name__}: {error}"
    torch.save(results, f"{folder}/results.{rank}.part")
    os.replace(f"{folder}/results.{rank}.part", f"{folder}/results.{rank}")
    os._exit(0)


def replay(plans):
    """The results of each rank's plan, [rank][number]; ReplayError if a rank fails or waits for ever."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        ranks = [context.Process(target=_be_rank, args=(rank, plans, folder)) for rank in range(len(plans))]
        for process in ranks:
            process.start()
        ends = time.monotonic() + TIMEOUT
        paths = [pathlib.Path(folder) / f"results.{rank}" for rank in range(len(plans))]
        while not all(path.exists() for path in paths) and time.monotonic() < ends:
            if any(path.exists() and isinstance(torch.load(path, weights_only=False), str) for path in paths):
                break
            time.sleep(0.02)
        for process in ranks:
            process.kill() if process.is_alive() else None
            process.join()
        found = [torch.load(path, weights_only=False) if path.exists() else "waits for ever" for path in paths]
    for rank, results in enumerate(found):
        if isinstance(results, str) and results != "waits for ever":
            raise ReplayError(f"rank {rank}: {results}")
    if any(isinstance(results, str) for results in found):
        raise ReplayError("ranks wait for ever")
    return found


def summed(results, plans):
    """Results with the values of the ranks of their partial axes added."""
    made = []
    for rank, rows in enumerate(results):
        axes = {axis["name"]: axis["ranks"] for axis in plans[rank][0].get("mesh", [])}
        mine = []
        for number, row in enumerate(rows):
            members = {rank}
            for axis in row.get("partial", ()):
                members |= set(axes[axis])
            mine.append({**row, "value": sum(results[m][number]["value"] for m in sorted(members))})
        made.append(mine)
    return made


def distance(a, b):
    """The largest difference, relative to the largest number; inf where one is undefined."""
    if not a.numel():
        return 0.0
    a, b = a.to(torch.float64), b.to(torch.float64)
    if not torch.equal(a.isnan(), b.isnan()):
        return math.inf
    scale = max(a.nan_to_num().abs().max().item(), 1e-300)
    return ((a - b).nan_to_num().abs().max() / scale).item()


def apart(first, second):
    """(the largest distance, name) of two parallel jobs' results."""
    worst = (0.0, "")
    for rank, (a, b) in enumerate(zip(first, second)):
        if [row["result"] for row in a] != [row["result"] for row in b]:
            return math.inf, "other results"
        for x, y in zip(a, b):
            worst = max(worst, (distance(x["value"], y["value"]), f"{x['result']} of rank {rank}"))
    return worst


def from_single(single, parallel):
    """(the largest distance, name) of a parallel job's results from those of one device."""
    whole = {row["result"]: row["value"] for row in single[0]}
    worst = (0.0, "")
    for rank, rows in enumerate(parallel):
        for row in rows:
            value, of = row["value"], whole.get(row["result"])
            if of is None:
                return math.inf, f"{row['result']} is no result of one device"
            pieces = pieces_of(row, list(value.shape))
            if pieces is None:
                pairs = [(value, of.flatten()[row["flat"]:row["flat"] + value.numel()])]
            else:
                pairs = [(value[here], of[there]) for here, there in pieces]
            for mine, wanted in pairs:
                scale = max(of.abs().max().item(), 1e-300)
                far = math.inf if mine.isnan().any() else (mine - wanted).abs().max().item() / scale if mine.numel() else 0.0
                worst = max(worst, (far, f"{row['result']} of rank {rank}"))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="store_true")
    parser.add_argument("first")
    parser.add_argument("second")
    args = parser.parse_args()
    first, second = plans_of(args.first), plans_of(args.second)
    a, b = summed(replay(first), first), summed(replay(second), second)
    far, name = apart(a, b) if args.only else from_single(a, b)
    print(f"largest relative difference {far:.2e} in {name or 'nothing'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
