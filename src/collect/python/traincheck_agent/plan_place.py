# SPDX-License-Identifier: Apache-2.0
"""Names of the model's tensors and their places in the single-device ones."""
import fnmatch
import gc
import itertools
import math
import re
import sys
import zlib

from . import plan_copies
from .plan_record import local

# Modules that hold another one and change no names: class -> the name below which it stands.
_WRAPPERS = {"DistributedDataParallel": "module", "DataParallel": "module", "DeepSpeedEngine": "module",
             "FullyShardedDataParallel": "_fsdp_wrapped_module", "OptimizedModule": "_orig_mod",
             "CheckpointWrapper": "_checkpoint_wrapped_module"}

_MAX_SMALL = 16 << 20  # bytes, as TC_FS_MAX_SMALL of base/fs.h


class LayoutError(Exception):
    """The layout file says something that cannot be."""


def _walk(module, prefix, seen):
    if id(module) in seen:
        return
    seen.add(id(module))
    yield prefix, module
    wrapped = next((_WRAPPERS[c.__name__] for c in type(module).__mro__ if c.__name__ in _WRAPPERS), None)  # FSDP2 derives
    for name, child in module._modules.items():
        if child is not None:
            below = prefix if name == wrapped else f"{prefix}.{name}" if prefix else name
            yield from _walk(child, below, seen)


def _below(kind):
    """The ids of a class and of all that derive from it."""
    known, more = set(), [kind]
    while more:
        derived = more.pop()
        if id(derived) not in known:
            known.add(id(derived))
            more += type.__subclasses__(derived)
    return known


def alive():
    """The optimizers and the modules that there are. The garbage collector knows a million objects of a large job: this looks once, and calls
    nothing of theirs."""
    torch = sys.modules["torch"]
    optimizers, modules = _below(torch.optim.Optimizer), _below(torch.nn.Module)
    objects = gc.get_objects()
    found = list(itertools.compress(objects, map((optimizers | modules).__contains__, map(id, map(type, objects)))))
    return ([o for o in found if id(type(o)) in optimizers and "param_groups" in o.__dict__],
            [m for m in found if id(type(m)) in modules and "_modules" in m.__dict__])


def _trainable(modules):
    return {id(p): p for m in modules for p in m._parameters.values() if p is not None and p.requires_grad}


class Names:
    """Names of parameters, buffers and modules of all models that an optimizer trains; without an optimizer of all
    whose parameters require a gradient. A parameter of such a model may be in the optimizer of another rank, or in a flat
    tensor that the optimizer trains in its place: see plan_copies. What no optimizer trains, as a teacher that follows the
    model, has a name, too."""

    def __init__(self, optimizers, found, copies=None):
        """found: all modules. copies: those of the first step, if later ones have other numbers than the job: ranks that are not there send
        none."""
        self.params, self.buffers, self.modules = {}, {}, {}  # id -> name; buffers: name -> tensor
        self.tensors = {}  # name -> parameter
        self.others = []  # of each model: name -> parameter that no optimizer trains
        self.copies = {}  # id of a tensor that an optimizer trains -> its pieces
        wanted = {id(p): p for o in optimizers for group in o.param_groups for p in group["params"]}
        kind = sys.modules["torch"].nn.parallel.DistributedDataParallel
        self.wrappers = [m for m in found if isinstance(m, kind) and "module" in m._modules]
        counted = self._counted(found, wanted)
        if not counted or not counted[0][0]:
            counted = self._counted(found, _trainable(found))
        for n, root in counted:
            if n:
                self._add_root(root, wanted)
        known = set(self.params)
        for _, root in counted:
            self._add_others(root, known)
        for index, optimizer in enumerate(optimizers):
            self._add_nameless(index, optimizer, copies)

    @staticmethod
    def _counted(found, wanted):
        """[(parameters that are wanted, module)] of the modules found that are in no other one, most first."""
        children = {id(c) for m in found for c in m._modules.values() if c is not None}
        roots = [(sum(id(p) in wanted for _, m in _walk(root, "", set()) for p in m._parameters.values()), root)
                 for root in found if id(root) not in children]
        return sorted(roots, key=lambda row: -row[0])

    def _add_root(self, root, wanted):
        for prefix, module in _walk(root, "", set()):
            self.modules.setdefault(id(module), prefix)
            dot = prefix + "." if prefix else ""
            for name, parameter in module._parameters.items():
                if parameter is not None and (parameter.requires_grad or id(parameter) in wanted):
                    self._add(dot + name, parameter)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    self.buffers.setdefault(dot + name, buffer)

    def _add_others(self, root, known):
        found = {}
        self.others.append(found)
        for prefix, module in _walk(root, "", set()):
            for name, parameter in module._parameters.items():
                if parameter is not None and id(parameter) not in known:
                    known.add(id(parameter))
                    found[self._unique(f"{prefix}.{name}" if prefix else name)] = parameter

    def _unique(self, name):
        base, n = name, 1
        while name in self.tensors or any(name in model for model in self.others):
            n += 1
            name = f"{base}#{n}"
        return name

    def _add(self, name, parameter):
        if id(parameter) not in self.params:
            name = self._unique(name)
            self.params[id(parameter)] = name
            self.tensors[name] = parameter

    def fingerprints(self):
        """Of the others: {name: number}."""
        return {name: _fingerprint(p) for model in self.others for name, p in model.items()}

    def adopt_changed(self, before):
        """A model whose others are no longer what fingerprints() has said, as a teacher that follows: they are tensors of
        the step, as the trained ones are. All of them: on some ranks a wrong step may leave a few as they were."""
        for model in self.others:
            if any(name in before and before[name] != _fingerprint(p) for name, p in model.items()):
                self.params.update((id(p), name) for name, p in model.items())
                self.tensors.update(model)

    def _add_nameless(self, index, optimizer, copies):
        nameless = [p for group in optimizer.param_groups for p in group["params"] if id(p) not in self.params]
        numbers = plan_copies.Numbers(self.tensors if nameless else {})
        for n, parameter in enumerate(nameless):
            pieces = numbers.pieces(local(parameter)) if copies is None else copies.get(id(parameter))
            if pieces is None:
                self._add(f"optimizer{index}.{n}", parameter)
            else:
                self.copies[id(parameter)] = pieces


def _fingerprint(tensor):
    """Of its elements; None of a tensor that is not read so."""
    torch, tensor = sys.modules["torch"], local(tensor).detach()
    if tensor.layout is not torch.strided or tensor.is_meta:
        return None
    return zlib.crc32(tensor.reshape(-1).cpu().view(torch.uint8).numpy())


def _read_small(path):
    """The text of a file that people write; a device or a FIFO may have no end."""
    with open(path, "rb") as file:
        data = file.read(_MAX_SMALL + 1)
    if len(data) > _MAX_SMALL:
        raise LayoutError(f"{path}: more than {_MAX_SMALL >> 20} MiB, which is the most that is read of such a file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise LayoutError(f"{path}:{line}: column {column}: byte 0x{data[error.start]:02x}: not UTF-8") from None


class Layout:
    """The lines of --plan-layout: `mesh dp=2 tp=4`, then `GLOB DIM AXIS [parts=A,B,..]`.

    Without a mesh line the axes are those of `known`, the rows that meshes() gives, and `world`: all ranks."""

    def __init__(self, path, rank, world, known=()):
        self.axes = []  # (name, size)
        self.known = {"world": list(range(world)), **{row["name"]: row["ranks"] for row in known}}
        self.rows = []  # (glob, dim, axis, parts)
        self.rank, self.world, self.path = rank, world, path
        if path:
            for number, line in enumerate(_read_small(path).split("\n"), 1):
                words = line.split("#")[0].split()
                if words:
                    self._read(f"{path}:{number}", words)

    def _read(self, at, words):
        if words[0] == "mesh":
            return self._read_mesh(at, words[1:])
        if len(words) not in (3, 4) or not re.fullmatch(r"-?\d+|-", words[1]):
            raise LayoutError(f"{at}: '{' '.join(words)}' is not GLOB DIMENSION AXIS [parts=A,B,..]")
        parts = [1]
        if len(words) == 4:
            match = re.fullmatch(r"parts=(\d+(?:,\d+)*)", words[3])
            if not match:
                raise LayoutError(f"{at}: '{words[3]}' is not parts=A,B,.. (sizes of the blocks, in proportion)")
            parts = [int(n) for n in match[1].split(",")]
            parts = [1] * parts[0] if len(parts) == 1 else [n // (math.gcd(*parts) or 1) for n in parts]
        if words[1] != "-" and words[2] not in ([name for name, _ in self.axes] or self.known):
            raise LayoutError(f"{at}: no axis '{words[2]}': name the axes first, as in: mesh dp=2 tp=4")
        self.rows.append((words[0], None if words[1] == "-" else int(words[1]), words[2], parts))
        return None

    def _read_mesh(self, at, words):
        size = 1
        for word in words:
            match = re.fullmatch(r"(\w+)=(\d+)", word)
            if not match or not int(match[2]):
                raise LayoutError(f"{at}: '{word}' is not AXIS=SIZE")
            self.axes.append((match[1], int(match[2])))
            size *= int(match[2])
        if size != self.world and self.world != 1:
            raise LayoutError(f"{at}: the mesh has {size} ranks, the job {self.world}")

    def position(self, axis):
        """(position of this rank, size) on an axis; the last one varies fastest."""
        if not self.axes:
            return self.known[axis].index(self.rank), len(self.known[axis])
        stride = 1
        for name, size in reversed(self.axes):
            if name == axis:
                return (self.rank // stride) % size, size
            stride *= size
        return 0, 1

    def mesh(self):
        """The head's axes: each with the ranks of this rank's group. Empty if the file names none."""
        if not self.axes:
            used = {axis for _, dim, axis, _ in self.rows if dim is not None}
            is_one = "world" in used and len(self.known) == 1
            return [{"name": "world", "ranks": self.known["world"]}] if is_one else []
        found, stride = [], 1
        for name, size in reversed(self.axes):
            first = self.rank - (self.rank // stride % size) * stride
            found.insert(0, {"name": name, "ranks": [first + i * stride for i in range(size)]})
            stride *= size
        return found

    def place(self, name, shape):
        """PLACE of a plain tensor, or None if no line names it."""
        rows = [row for row in self.rows if fnmatch.fnmatchcase(name, row[0])]
        if not rows or self.world == 1:
            return None
        by, splits = [], {}  # dimension -> (position, n, parts): the first axis of several is the slowest
        for glob, dim, axis, parts in rows:
            if dim is None:
                continue
            if not -len(shape) <= dim < len(shape):
                raise LayoutError(f"{self.path}: {glob}: {name} has no dimension {dim}")
            dim %= len(shape)
            position, n = self.position(axis)
            before, times, first = splits.get(dim, (0, 1, parts))
            if first != parts or shape[dim] % sum(parts):
                raise LayoutError(f"{self.path}: {glob}: dimension {dim} of {name}, of size {shape[dim]}, cannot be "
                                  f"in {len(parts)} parts")
            splits[dim] = before * n + position, times * n, parts
            by.append([dim, axis])
        whole = [size * splits[dim][1] if dim in splits else size for dim, size in enumerate(shape)]
        starts = [_runs(size, splits[dim][2], *splits[dim][:2]) if dim in splits else [(0, size, 0)]
                  for dim, size in enumerate(shape)]  # runs: (local, length, global)
        return _as_place(whole, by, starts)


def _runs(size, parts, position, n):
    unit, runs, here, there = size // sum(parts), [], 0, 0
    for part in parts:
        length = unit * part
        runs.append((here, length, there + position * length))
        here += length
        there += length * n
    return runs


def _as_place(whole, by, runs):
    """`at` where each dimension is one run, else `pieces`. by: (dimension, axis) of each split."""
    if all(len(r) == 1 for r in runs):
        place = {"global": whole, "at": [r[0][2] for r in runs]}
        return {**place, "by": by} if by else place
    pieces = [([], [], [])]
    for per_dim in runs:
        pieces = [(a + [here], b + [length], c + [there]) for a, b, c in pieces for here, length, there in per_dim]
    return {"global": whole, "pieces": [list(piece) for piece in pieces]}


def _chunk(items, n, position):
    """As torch.chunk: the last ones may be shorter, or empty."""
    size = -(-len(items) // n)
    return items[position * size:(position + 1) * size]


def _strided_runs(size, splits):
    """Runs (local, length, global) of what is left of a dimension after splits (groups, ranks, position): of each of
    the groups the rank has one chunk, as of the two blocks of a fused gate and up projection."""
    left = list(range(size))
    for groups, n, position in splits:
        left = [i for g in range(groups) for i in _chunk(_chunk(left, groups, g), n, position)]
    runs = []
    for here, there in enumerate(left):
        if runs and there == runs[-1][2] + runs[-1][1]:
            runs[-1][1] += 1
        else:
            runs.append([here, 1, there])
    return [tuple(run) for run in runs]


def _strided(tensor):
    """PLACE of a DTensor with a _StridedShard that leaves the rank more than one block; None for all others."""
    if not any(getattr(p, "split_factor", 1) > 1 for p in tensor.placements):
        return None
    splits = [[] for _ in tensor.shape]
    for p, n, position in zip(tensor.placements, tensor.device_mesh.shape, tensor.device_mesh.get_coordinate()):
        if hasattr(p, "dim"):
            splits[p.dim].append((getattr(p, "split_factor", 1), n, position))
    runs = [_strided_runs(size, of_dim) for size, of_dim in zip(tensor.shape, splits)]
    sizes = [sum(length for _, length, _ in of_dim) for of_dim in runs]
    if all(len(of_dim) == 1 for of_dim in runs) or sizes != list(local(tensor).shape):
        return None
    return _as_place(list(tensor.shape), [], runs)


def of_dtensor(tensor):
    """(PLACE, names of the axes over which it is Partial) of a DTensor."""
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
    mesh, placements = tensor.device_mesh, tensor.placements
    kept = [sys.modules["torch.distributed.tensor"].Replicate() if p.is_partial() else p for p in placements]
    _, at = compute_local_shape_and_global_offset(tensor.shape, mesh, kept)
    shape = local(tensor).shape
    at = [min(a, size) for a, size in zip(at, tensor.shape)] if 0 in shape else at
    names = mesh.mesh_dim_names or tuple(f"axis{i}" for i in range(mesh.ndim))
    partial = [name for name, p in zip(names, placements) if p.is_partial()]
    by = [[p.dim, name] for name, p in zip(names, placements) if p.is_shard()]
    place = _strided(tensor)
    if place is None:
        place = {"global": list(tensor.shape), "at": [int(a) for a in at], **({"by": by} if by else {})}
    return place, partial


_meshes = []  # those that were made


def watch_meshes():
    """Remember each DeviceMesh: scripts let go of them."""
    kind = sys.modules["torch.distributed.device_mesh"].DeviceMesh
    init = kind.__init__

    def remembered(self, *args, **kwargs):
        init(self, *args, **kwargs)
        _meshes.append(self)
    kind.__init__ = remembered


def meshes():
    """The axes of every DeviceMesh that this rank is part of."""
    dist, found = sys.modules["torch.distributed"], []
    for mesh in _meshes:
        try:
            names = mesh.mesh_dim_names or tuple(f"axis{i}" for i in range(mesh.ndim))
            for i, name in enumerate(names):
                ranks = list(dist.get_process_group_ranks(mesh.get_group(i)))
                row = {"name": name, "ranks": ranks}
                if row not in found and all(name != other["name"] for other in found):
                    found.append(row)
        except Exception:  # a mesh without groups, or one that this rank is not part of
            continue
    return found
