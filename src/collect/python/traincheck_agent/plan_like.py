# SPDX-License-Identifier: Apache-2.0
"""Ranks that were not captured: each is taken to run the program of one that was, at its own place of the mesh."""
import json
import os


class LikeError(Exception):
    """A rank cannot be made of another one."""


def _read(folder, rank):
    """(head, inits and results) of a captured plan."""
    with open(os.path.join(folder, f"plan-rank{rank:05d}.jsonl"), encoding="utf-8") as lines:
        head = json.loads(next(lines))
        placed = [json.loads(line) for line in lines if line.startswith(('{"init"', '{"result"'))]
    return head, placed


class _Mesh:
    """The axes of a head, by which every rank has coordinates."""

    def __init__(self, head):
        self.axes = [(axis["name"], len(axis["ranks"]), axis["ranks"][1] - axis["ranks"][0])
                     for axis in head["mesh"] if len(axis["ranks"]) > 1]
        size = 1
        for _, n, _ in self.axes:
            size *= n
        if size != head["world"]:
            raise LikeError("--plan-ranks needs the names of all axes: of a DeviceMesh, or in a mesh line of --plan-layout")

    def place(self, rank):
        return {name: rank // stride % n for name, n, stride in self.axes}

    def groups(self, rank):
        return [{"name": name, "ranks": [rank + (i - rank // stride % n) * stride for i in range(n)]}
                for name, n, stride in self.axes]


def _is_even(line, sizes):
    """Has every rank of each axis a block of one size?"""
    return "at" in line and len({dim for dim, _ in line["by"]}) == len(line["by"]) and all(
        line["t"][3][dim] * sizes[axis] == line["global"][dim] for dim, axis in line["by"])


def _moved(line, here, there, sizes):
    """A line of the captured rank for another one; None if it stays as it is."""
    by = [(dim, axis) for dim, axis in line.get("by", ()) if here[axis] != there[axis]]
    if not by:
        return None
    name = line.get("name", line.get("result"))
    if not _is_even(line, sizes):
        raise LikeError(f"{name} is split in a way that --plan-ranks cannot move: capture all ranks")
    at = list(line["at"])
    for dim, axis in by:
        at[dim] += (there[axis] - here[axis]) * line["t"][3][dim]
    return {**line, "at": at}


def write(folder, captured, world):
    """Write the plans of the ranks that were not captured, as heads that say whom they are like. Returns how many."""
    plans = {rank: _read(folder, rank) for rank in captured}
    mesh = _Mesh(plans[captured[0]][0])
    places = {rank: mesh.place(rank) for rank in captured}
    sizes = {name: size for name, size, _ in mesh.axes}
    n = 0
    with open(os.path.join(folder, "plan-like.jsonl"), "w", encoding="utf-8", errors="replace") as out:
        for rank in sorted(set(range(world)) - set(captured)):
            there = mesh.place(rank)
            like = max(captured, key=lambda other: sum(places[other][axis] == there[axis] for axis in there))
            head = {**plans[like][0], "rank": rank, "mesh": mesh.groups(rank), "like": like}
            lines = [_moved(line, places[like], there, sizes) for line in plans[like][1]]
            for line in [head, *(line for line in lines if line)]:
                out.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n")
            n += 1
    return n
