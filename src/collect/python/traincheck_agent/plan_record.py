# SPDX-License-Identifier: Apache-2.0
"""The operators of one training step, written down as they run.

A TorchDispatchMode sees every operator below autograd. What is computed exactly from neither a parameter nor another
rank (masks, positions, batches, tables) runs as ever and is written as a constant when a recorded operator reads it.
Arithmetic on floating-point numbers is recorded always: 1/480 as a float32 is not the half of 1/240."""
import hashlib
import os
import sys

from . import plan_complex, plan_lines, plan_names

_REDUCE = {0: "sum", 1: "avg", 2: "prod", 3: "min", 4: "max", 5: "band", 6: "bor", 7: "bxor", 8: "premul_sum"}
# The schemas of these do not say what they write: the arguments that they do.
_WRITES = {"allreduce_": "tensors", "allreduce_coalesced_": "tensors", "broadcast_": "tensors", "reduce_": "tensors",
           "allgather_": "output_tensors", "allgather_coalesced_": "output_lists", "_allgather_base_": "output_tensor",
           "allgather_into_tensor_coalesced_": "outputs", "gather_": "output_tensors", "scatter_": "output_tensors",
           "reduce_scatter_": "output_tensors", "_reduce_scatter_base_": "output_tensor",
           "reduce_scatter_tensor_coalesced_": "outputs", "alltoall_": "output_tensors", "alltoall_base_": "output",
           "recv_": "tensors", "recv_any_source_": "tensors"}
_IN_PLACE = {"allreduce_", "allreduce_coalesced_", "broadcast_", "reduce_"}  # of those, what they write they read, too
_OVERWRITES = {"aten.copy_", "aten.zero_", "aten.fill_"}  # the whole of self, whatever it held
_DRAWS = ("dropout", "bernoulli", "normal_", "uniform_", "rand", "multinomial", "exponential_", "geometric_")
# Of these the values of the arguments do not matter, only their sizes.
_BY_SIZE = ("empty", "zeros", "ones", "full", "rand", "new_empty", "new_zeros", "new_ones", "new_full", "empty_like",
            "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "new_empty_strided", "empty_strided")
_LONGEST_LIST = 1024
_MADE = 5  # lines of constants and views that are written of an operator
# These only move numbers about.
_EXACT = frozenset(("triu", "tril", "cat", "stack", "index", "index_select", "gather", "clone", "_to_copy", "copy_",
                    "masked_fill", "masked_fill_", "where", "flip", "roll", "repeat", "fill_", "zero_", "neg", "abs",
                    "index_put_", "scatter", "scatter_", "constant_pad_nd", "sort", "topk", "lift_fresh", "contiguous",
                    "triu_", "tril_", "masked_select", "unfold", "slice_scatter", "select_scatter"))


class Traits:
    """What is asked of an operator each time it runs."""

    def __init__(self, func):
        schema = func._schema
        self.name = str(func)
        self.base = self.name.rpartition(".")[0]
        self.space, _, self.short = self.base.partition(".")
        self.arguments = [argument.name for argument in schema.arguments]
        written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        self.writes = [a.name for a in written]
        self.is_view = not written and any(r.alias_info is not None for r in schema.returns)
        self.outs = {a.name for a in written if a.kwarg_only or self.name.endswith((".out", "_out"))}
        self.meets = self.space in ("c10d", "_c10d_functional", "_dtensor")
        if self.space == "c10d" and self.short in _WRITES:
            self.writes = [_WRITES[self.short]]
            self.outs = set() if self.short in _IN_PLACE else set(self.writes)
        if self.base in _OVERWRITES:
            self.outs = {"self"}
        if self.base == "fsdp.all_gather_copy_in":
            self.writes, self.outs = ["all_gather_output"], {"all_gather_output"}
        self.draws = any(word in self.short for word in _DRAWS) and not self.short.endswith("_backward")
        self.by_size = self.space == "aten" and self.short in _BY_SIZE
        self.is_exact = self.space == "aten" and self.short in _EXACT
        self.is_empty = self.by_size and "empty" in self.short
        self.keeps_statistics = self.base == "aten.native_batch_norm"
        self.indexes = self.space == "aten" and self.short in ("index", "index_put_", "index_put", "_index_put_impl_")
        self.exchanges = self.meets and self.short not in (
            "wait_tensor", "_wrap_tensor_autograd", "barrier", "monitored_barrier_", "send", "recv_", "recv_any_source_")
        self.receives = self.space == "c10d" and self.short.startswith("recv")


def tensors_in(value, found):
    """All tensors of nested lists, in order."""
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for part in value:
            tensors_in(part, found)
    return found


def local(tensor):
    """The plain tensor of this rank below a DTensor or a pending result of a collective; a complex one as pairs."""
    while True:
        inner = getattr(tensor, "_local_tensor", None)
        inner = getattr(tensor, "elem", None) if inner is None else inner
        if inner is None:
            return plan_complex.pairs(tensor) if tensor.is_complex() else tensor
        tensor = inner


def is_parameter(tensor):
    return isinstance(tensor, sys.modules["torch"].nn.Parameter)


def _references(value):
    """All references of tensors in an encoded argument."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list) and value[:1] == ["t"]:
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _references(part)


def key_of(tensor):
    return tensor.untyped_storage()._cdata


def number(value):
    """As JSON has it."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return value


def _factor(kind):
    """By which a reduction multiplies first. The operator has an object that hides it: the function of torch.distributed
    that is running was given it. kind: ReduceOp."""
    frame = sys._getframe(1)
    while frame is not None:
        op = frame.f_locals.get("op")
        if isinstance(op, kind):
            return op.__getstate__()[1]
        frame = frame.f_back
    return None


class Recorder:
    """The plan of one rank while it grows."""

    def __init__(self):
        self.traits = {}
        self.pairs = plan_complex.Pairs(self.dispatch)
        self.to_list = sys.modules["torch"].Tensor.tolist  # which the capture replaces
        self.active = False
        self.is_waiting = False  # for a collective: what its backend copies is no operator of the script
        self.pid = os.getpid()
        self.modules = []     # being called
        self.touched = None   # called with each operator before it runs
        self.of_parameters, self.derived = set(), set()  # before the first step: keys of them, of what is computed from them
        # What ranks gave each other of constants, and what is computed from it alone: between steps it outlives one.
        self.exchanged, self.exchanges = {}, []  # key -> storage; its operators between steps, with their modules
        self.in_step, self.of_step = False, set()  # keys of what was exchanged within the step
        self.made = {}  # key of a storage -> {geometry of a view, or None for all of it: the lines that made it}
        self.taken_over = {}, [], 0  # by restart(): numbers of storages, constants, how many storages
        self.restart()

    def restart(self):
        """Forget what was recorded, but for what ranks exchanged of constants."""
        self.ops, self.consts, self.inits, self.results = [], [], [], []
        self.copies = []      # operators that stand before all others
        self.storages = {}    # of what depends on a symbol: key -> number
        self.concrete = set()   # of those, keys of what holds the numbers that it stands for
        self.undefined = set()  # keys of what `empty` gave
        self.n_storages = 0
        # Storages, so that no address is used twice. Not tensors: autograd copies a gradient that others refer to.
        self.kept = []
        self.constants = {}   # digest of contents -> reference
        self.lines = {}       # autograd's sequence number -> (line, module, callers, lines that applied the function)
        self.values = {}      # lines at which Python reads a number that depends on a symbol
        self.kept_state = None  # of a step by hand: see plan_hand
        self.n_prelude = 0  # how many operators came before the first call with gradients
        self.data_sizes = set()  # of the dimensions of batches and tables, but for features
        self.group_sizes = set()
        self._take_over()

    def _take_over(self):
        """The exchanges of before, with the constants that they read."""
        numbers, consts, self.n_storages = self.taken_over
        self.ops, self.consts = list(self.exchanges), list(consts)
        self.storages = {key: number for key, number in numbers.items() if key in self.exchanged}
        self.kept += [self.exchanged[key] for key in self.storages]

    def prune_prelude(self):
        """Drop what is computed before the first call with gradients, as by an evaluation, if nothing reads it."""
        kept, needed = self.ops[self.n_prelude:], {line["t"][1] for line in self.inits}
        needed.update(t[1] for op, _ in kept for t in _references(op["a"]))
        for entry in reversed(self.ops[:self.n_prelude]):
            op = entry[0]
            if op["op"].startswith("aten.") and "value" not in op and not any(t[1] in needed for t in _references(op["out"])):
                continue
            needed.update(t[1] for t in _references(op["a"]))
            kept.insert(0, entry)
        if len(kept) < len(self.ops):
            self.consts = [line for line in self.consts if line["const"] in needed]
        self.ops = kept

    def set_exchanges_aside(self):
        """Before restart(): what it takes over."""
        for key in self.of_step:
            self.exchanged.pop(key, None)
        self.of_step.clear()
        used = {t[1] for op, _ in self.exchanges for t in _references([op["a"], op["out"]])}
        self.taken_over = ({key: self.storages[key] for key in self.exchanged if key in self.storages},
                           [line for line in self.consts if line["const"] in used], self.n_storages)

    def renew(self, tensor):
        """What the step starts from is no longer what was exchanged."""
        key = key_of(local(tensor))
        if key in self.exchanged:
            del self.exchanged[key]
            self.storages.pop(key, None)

    # ---- references

    def _new_storage(self):
        self.n_storages += 1
        return self.n_storages - 1

    def reference(self, tensor, storage):
        return ["t", storage, tensor.storage_offset(), list(tensor.shape), list(tensor.stride()),
                str(tensor.dtype)[6:]]

    def symbol(self, tensor):
        """The reference of a tensor whose storage is known from here on."""
        tensor = local(tensor)
        key = key_of(tensor)
        if key not in self.storages:
            self.storages[key] = self._new_storage()
            self.kept.append(tensor.untyped_storage())
        return self.reference(tensor, self.storages[key])

    def is_known(self, tensor):
        return key_of(local(tensor)) in self.storages

    def is_read(self, tensor):
        """Does the plan have to say so if Python reads these numbers? Many are no sizes."""
        return self.active and self.is_known(tensor) and not tensor.is_floating_point() and tensor.numel() <= _LONGEST_LIST

    def _contents(self, tensor):
        data = self.to_list(tensor.detach().reshape(-1))
        if data and isinstance(data[0], float):
            data = [number(value) for value in data]
        elif data and isinstance(data[0], bool):
            data = [int(value) for value in data]
        return data

    def constant(self, tensor):
        """The reference of a copy of contents; equal contents are written once."""
        flat = local(tensor).detach().contiguous()
        raw = flat.view(-1).view(sys.modules["torch"].uint8).numpy().tobytes() if flat.numel() else b""
        digest = (hashlib.blake2b(raw, digest_size=16).digest(), tuple(flat.shape), flat.dtype)
        if digest not in self.constants:
            storage = self._new_storage()
            self._add_const(storage, flat, key_of(local(tensor)))
            if flat.dim() > 1 and flat.dtype != sys.modules["torch"].bool:
                self.data_sizes.update(flat.shape[:-1] if flat.is_floating_point() else flat.shape)
            self.constants[digest] = ["t", storage, 0, *self.reference(flat, storage)[3:]]
        return self.constants[digest]

    def _add_const(self, storage, flat, key=None):
        """key: of the storage whose contents these are; flat may be a copy."""
        if self.kept_state is not None and self._add_copy(storage, flat, key):
            return
        self.consts.append(self._const(storage, flat))

    def _add_copy(self, storage, flat, key):
        """Of parameters, as an operator before all others."""
        pieces = self.kept_state.pieces(flat, key)
        if pieces is None:
            return False
        self.add_copy(["t", storage, 0, [flat.numel()], [1], str(flat.dtype)[6:]], flat, pieces)
        return True

    def add_copy(self, to, flat, pieces):
        """An operator before all others: what `to` refers to holds pieces of parameters. flat: it, for its type."""
        parts = [["t", self.symbol(p)[1], local(p).storage_offset() + at, [n], [1], str(local(p).dtype)[6:]]
                 if p is not None else self._zeros(n, flat) for p, at, n in pieces]
        self.copies.append({"op": "aten.cat.default", "a": {"tensors": parts, "dim": 0}, "out": [to], "src": ["", ""]})

    def _zeros(self, n, like):
        storage = self._new_storage()
        self.consts.append({"const": storage, "n": n, "dtype": str(like.dtype)[6:], "data": [0.0]})
        return ["t", storage, 0, [n], [1], str(like.dtype)[6:]]

    def _whole_storage(self, tensor):
        """Contents of a storage of which a recorded operator is about to write a part."""
        torch = sys.modules["torch"]
        n = tensor.untyped_storage().nbytes() // tensor.element_size()
        flat = torch.as_strided(tensor.detach(), (n,), (1,), 0)
        self._add_const(self.symbol(tensor)[1], flat, key_of(tensor))

    def fill_gaps(self, start):
        """Constants where storages of what the step starts from hold more: the end of a padded buffer. start: of inits."""
        covered, was_waiting = {}, self.is_waiting
        self.is_waiting = True  # none of what follows is an operator of the script
        for line in self.inits[start:]:
            covered.setdefault(line["t"][1], []).append(line["t"])
        for storage in self.kept:
            number = self.storages.get(storage._cdata)
            if number in covered:
                self._fill_gap(storage, number, covered.pop(number))
        self.is_waiting = was_waiting

    def _fill_gap(self, storage, number, references):
        torch = sys.modules["torch"]
        dtype = getattr(torch, references[0][5])
        flat = torch.empty(0, dtype=dtype).set_(storage)
        if sum(torch.Size(reference[3]).numel() for reference in references) >= flat.numel():
            return
        rest = flat.clone()
        for _, _, offset, sizes, strides, _ in references:
            rest.as_strided(sizes, strides, offset).zero_()
        self.consts.append(self._const(number, rest))

    def _const(self, number, flat):
        """The line of a constant."""
        data = self._contents(flat)
        data = data[:1] if data and data.count(data[0]) == len(data) else data
        return {"const": number, "n": flat.numel(), "dtype": str(flat.dtype)[6:], "data": data}

    def _before_write(self, tensor, is_overwritten):
        tensor = local(tensor)
        if self.is_known(tensor):
            return
        n = tensor.untyped_storage().nbytes() // tensor.element_size()
        if key_of(tensor) not in self.undefined and not (is_overwritten and tensor.numel() == n) and n:
            self._whole_storage(tensor)
        else:
            self.symbol(tensor)

    # ---- where it stands

    def place(self, node):
        """(line, module, callers, lines that applied it, lines at which Python chose what it computes with) of what runs now:
        for autograd's own work those of the forward it belongs to; for a backward that the script has written its own, and
        those that applied the function."""
        line, via, frame = self._line(node is not None)
        module, applied = self.modules[-1] if self.modules else None, ()
        if node is not None and (line is None or not self.modules):
            found = self.lines.get(getattr(node, "_sequence_nr", int)())
            if found is not None:
                module = found[1] if module is None else module
                if not line:
                    return found[0], module, found[2], (), found[4]
                if isinstance(node, sys.modules["torch"].autograd.function.BackwardCFunction):
                    applied = found[3]
        chosen = plan_names.chosen(frame)
        if not line:
            line, via, _ = self._line(False)
        return line or "", module, via, applied, chosen

    def _line(self, stops_at_engine):
        line, frame = plan_lines.current(sys._getframe(3), stops_at_engine, bool(self.modules))
        return line, plan_lines.callers(frame, stops_at_engine), frame

    # ---- operators

    def _encode(self, value, is_read):
        torch = sys.modules["torch"]
        if isinstance(value, torch.Tensor):
            if self.is_known(value):
                return self.symbol(value)
            if key_of(local(value)) in self.undefined or not is_read:
                return self.symbol(value)
            return self.constant(value)
        if isinstance(value, (list, tuple)):
            return [self._encode(part, is_read) for part in value]
        if isinstance(value, (bool, int, str)) or value is None:
            return value
        if isinstance(value, float):
            return number(value)
        if isinstance(value, torch.ScriptObject):
            return self._encode_object(value)
        return str(value).replace("torch.", "")

    def _encode_object(self, value):
        dist = sys.modules["torch.distributed"]
        kind = str(value._type())
        if kind.endswith("ProcessGroup"):
            ranks = list(dist.get_process_group_ranks(dist.ProcessGroup.unbox(value)))
            self.group_sizes.add(len(ranks))
            return ["pg", ranks]
        if kind.endswith("ReduceOp"):
            how = _REDUCE.get(value.op(), "unknown")
            return f"{how}:{_factor(dist.ReduceOp)}" if how == "premul_sum" else how
        return None

    def _named(self, traits, args, kwargs):
        named = dict(zip(traits.arguments, args))
        named.update(kwargs)
        if traits.indexes and self.active:
            named["indices"] = [part for index in named["indices"] for part in self._places(index)]
        return named

    def _places(self, index):
        """A mask as the numbers of the elements it chooses: its values are no secret."""
        torch = sys.modules["torch"]
        if index is None or index.dtype not in (torch.bool, torch.uint8) or self.is_known(index):
            return [index]
        return index.nonzero(as_tuple=True)

    def _add_group(self, named, encoded):
        name = named.get("group_name")
        if isinstance(name, str):
            c10d = sys.modules["torch.distributed.distributed_c10d"]
            encoded["pg"] = ["pg", list(c10d.get_process_group_ranks(c10d._resolve_process_group(name)))]

    def dispatch(self, func, args, kwargs):
        """Run one operator, and write it down if it belongs to the plan."""
        traits = self.traits.get(func)
        if traits is None:
            traits = self.traits[func] = Traits(func)
        if os.getpid() != self.pid:
            return func(*args, **kwargs)
        if self.touched is not None:
            self.touched(traits, args)
        named = self._named(traits, args, kwargs)
        if self.is_waiting or (not self.active and not self._is_exchange(traits, named)):
            result = func(*args, **kwargs)
            self._derive(args, result)
            return result
        self._remember_line()
        if traits.short == "_local_scalar_dense" or traits.base == "aten.equal":
            return self._read_value(traits, func, args, kwargs, named)
        symbolic = self._is_symbolic(traits, named)
        if not symbolic and self._is_outside(traits, named):
            return self._run_outside(traits, func, args, kwargs)
        read = [] if traits.is_view else tensors_in(list(named.values()), [])
        if any(map(plan_complex.is_lazy, read)):
            return self.dispatch(func, self.pairs.settle(args), self.pairs.settle(kwargs))
        if not traits.is_view and plan_complex.concerns(traits, named, read):
            result = self.pairs.run(traits, func, named, read)
            if result is not NotImplemented:
                return result
        return self._record(traits, func, args, kwargs, named, symbolic)

    def _is_exchange(self, traits, named):
        """Between steps: does it bring constants together, or read only what was brought?"""
        if not (traits.exchanges or self.exchanged):
            return False
        keys = {key_of(local(t)) for t in tensors_in(list(named.values()), [])}
        if traits.exchanges:
            return not (keys & self.of_parameters or keys & (self.derived or set()))
        return bool(keys & self.exchanged.keys()) and not traits.by_size

    def _derive(self, args, result):
        """Before the first step: what is computed from parameters."""
        if self.derived is None:
            return
        read = tensors_in(args, [])
        for tensor in read:
            if is_parameter(tensor) and key_of(local(tensor)) not in self.of_parameters:
                self.of_parameters.add(key_of(local(tensor)))
                self.kept.append(local(tensor).untyped_storage())  # the address of one that is replaced is not used twice
        keys = {key_of(local(t)) for t in read}
        if keys & self.of_parameters or keys & self.derived:
            for tensor in tensors_in(result, []):
                key = key_of(local(tensor))
                if key not in self.derived and key not in self.of_parameters:
                    self.derived.add(key)
                    self.kept.append(local(tensor).untyped_storage())

    def _remember_line(self):
        torch = sys.modules["torch"]
        if torch._C._current_autograd_node() is None:
            seq = torch.autograd._get_sequence_nr() - 1
            if seq not in self.lines:
                line, module, via, _, chosen = self.place(None)
                self.lines[seq] = line, module, via, plan_lines.applied(sys._getframe(2)), chosen

    def _is_symbolic(self, traits, named):
        """Does the result depend on a parameter or another rank?"""
        if traits.meets and traits.short not in ("wait_tensor", "_wrap_tensor_autograd"):
            return True
        if traits.by_size:
            return False
        keys = [key_of(local(t)) for t in tensors_in(list(named.values()), [])]
        return any(key in self.storages and key not in self.concrete for key in keys)

    def _is_outside(self, traits, named):
        """Is it one of those whose result can be written as numbers?"""
        if traits.by_size or traits.draws:
            return True
        read = tensors_in(list(named.values()), [])
        if any(self.is_known(t) for t in read):
            return False
        return traits.is_exact or not any(local(t).is_floating_point() for t in read)

    def _run_outside(self, traits, func, args, kwargs):
        result = func(*args, **kwargs)
        given = tensors_in(result, [])
        if given:
            self._note_made(given, read=tensors_in([args, list(kwargs.values())], []))
        for tensor in given:
            key = key_of(local(tensor))
            if traits.is_empty:
                self.undefined.add(key)
                self.kept.append(local(tensor).untyped_storage())
            elif key not in self.storages and not self._is_alias(key, args):
                self.undefined.discard(key)
        for name in traits.writes:
            for tensor in tensors_in(self._named(traits, args, kwargs).get(name), []):
                self.undefined.discard(key_of(local(tensor)))
        return result

    # ---- where constants and views were made

    @staticmethod
    def _geometry(tensor):
        return tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride())

    def _note_made(self, tensors, base=None, read=()):
        """base: of which they are views; read: of which they are computed."""
        line, *_, chosen = self.place(sys.modules["torch"]._C._current_autograd_node())
        lines = {}
        for tensor in read if base is None else (base,):
            lines.update(dict.fromkeys(self._made_of(tensor, base is None)))
        lines.update(dict.fromkeys((*chosen, line.partition(", in ")[0])))
        for tensor in map(local, tensors):
            known = {} if base is None else self.made.get(key_of(tensor), {})
            self.made[key_of(tensor)] = known
            known[None if base is None else self._geometry(tensor)] = tuple(lines)[-_MADE:]

    def _made_of(self, tensor, is_constant):
        """Lines that made a view, and the constant that it shows."""
        lines = self.made.get(key_of(local(tensor)), {})
        return lines.get(self._geometry(local(tensor)), ()) + (lines.get(None, ()) if is_constant else ())

    def _forget_made(self, tensors, before):
        """A new storage may have the address of one that is gone."""
        for tensor in map(local, tensors):
            if key_of(tensor) not in before:
                self.made.pop(key_of(tensor), None)

    def _lines_made(self, tensors, own, chosen):
        """Of the constants and views among the tensors, where that is another line; then what else Python chose."""
        found = {}
        for tensor in tensors:
            key = key_of(local(tensor))
            found.update(dict.fromkeys(self._made_of(tensor, key not in self.storages or key in self.concrete)))
        found.update(dict.fromkeys(chosen))
        return [line for line in found if line not in (own, "")][:_MADE]

    def _is_alias(self, key, args):
        return any(key_of(local(t)) == key for t in tensors_in(args, []))

    def _read_value(self, traits, func, args, kwargs, named):
        result = func(*args, **kwargs)
        known = [t for t in tensors_in(list(named.values()), []) if self.is_known(t)]
        if all(key_of(local(t)) in self.concrete for t in known):
            return result
        line, module, *_ = self.place(sys.modules["torch"]._C._current_autograd_node())
        if traits.short == "_local_scalar_dense":
            op = {"op": traits.name, "a": {"self": self.symbol(known[0])}, "out": [], "src": [line, ""],
                  "value": number(result)}
            self.ops.append((op, module))
            keys = {key_of(local(t)) for t in known}
            if not self.in_step and keys <= self.exchanged.keys() - self.of_step:
                self.exchanges.append((op, module))
        self.values.setdefault(line)
        return result

    def _record(self, traits, func, args, kwargs, named, symbolic):
        torch = sys.modules["torch"]
        before = {key_of(local(t)) for t in tensors_in(list(named.values()), [])}
        known = {key for key in before if key in self.storages and key not in self.concrete}
        lasting = self.exchanged.keys() if self.in_step else self.exchanged.keys() - self.of_step
        is_exchange = known <= lasting and (bool(known) or traits.exchanges)
        if is_exchange and not self.in_step:
            self._forget_origins(before)
        node = torch._C._current_autograd_node()
        rng = self._generator_state(named) if traits.draws else None
        encoded = None
        if traits.writes:
            for name in traits.writes:
                for tensor in tensors_in(named.get(name), []):
                    self._before_write(tensor, name in traits.outs)
            encoded = {name: self._encode(value, name not in traits.outs) for name, value in named.items()}
        elif traits.meets or traits.keeps_statistics:
            encoded = {name: self._encode(value, True) for name, value in named.items()}
        result = func(*args, **kwargs)
        given = tensors_in(result, [])
        if self._is_geometry(traits, given, before, result, args):
            if given and not traits.meets and traits.short != "detach":
                self._note_made(given, args[0] if isinstance(args[0], torch.Tensor) else None)
            return result
        if not (symbolic or traits.writes or any(local(t).is_floating_point() for t in given)):
            return result
        if encoded is None:
            encoded = {name: self._encode(value, True) for name, value in named.items()}
        self._add_group(named, encoded)
        line, module, via, applied, chosen = self.place(node)
        is_complex = any(t.is_complex() for t in tensors_in(list(named.values()), given[:]))
        op = {"op": "complex." * is_complex + traits.name, "a": encoded, "out": self._outputs(traits, named, result, before),
              "src": [line, node.name() if node is not None else ""]}
        if via:
            op["via"] = list(via)
        if applied:
            op["back"] = list(applied)
        made = self._lines_made(tensors_in([args, list(kwargs.values())], []), line.partition(", in ")[0], chosen)
        self._forget_made(given, before)
        if not self.in_step:  # the step to come starts from it
            self._note_made([t for t in given if key_of(local(t)) not in before])
        if made:
            op["made"] = made
        if rng is not None:
            op["rng"] = rng
        self._mark(traits, named, given, symbolic)
        self._mark_exchange(traits, named, given, is_exchange, (op, module))
        self.ops.append((op, module))
        return result

    def _forget_origins(self, keys):
        """What makes them belongs to a step that is over: they are constants from here on."""
        for key in keys:
            if key in self.concrete and key not in self.exchanged:
                self.concrete.discard(key)
                self.storages.pop(key, None)

    def _mark_exchange(self, traits, named, given, is_exchange, op):
        written = given + [t for name in traits.writes for t in tensors_in(named.get(name), [])]
        for tensor in written:
            key = key_of(local(tensor))
            self.of_step.discard(key)
            if is_exchange:
                self.exchanged[key] = local(tensor).untyped_storage()
            else:
                self.exchanged.pop(key, None)
            if is_exchange and self.in_step:
                self.of_step.add(key)
        if is_exchange and not self.in_step:
            self.exchanges.append(op)

    def _mark(self, traits, named, given, symbolic):
        """Remember whether what was written holds its numbers."""
        written = given + [t for name in traits.writes for t in tensors_in(named.get(name), [])]
        keys = {key_of(local(t)) for t in written}
        self.concrete = self.concrete - keys if symbolic else self.concrete | keys

    def _is_geometry(self, traits, given, before, result, args):
        """A view, or what gives no tensor."""
        if traits.writes or traits.keeps_statistics or (traits.meets and not given):
            return False
        if traits.short in ("wait_tensor", "_wrap_tensor_autograd"):
            if key_of(local(result)) not in self.storages and self.is_known(args[0]):
                self.storages[key_of(local(result))] = self.storages[key_of(local(args[0]))]
                self.kept.append(local(result).untyped_storage())
            return True
        if traits.meets:
            return False
        return all(key_of(local(t)) in before for t in given)

    def _outputs(self, traits, named, result, before):
        out = []
        if traits.base == "fsdp.all_gather_copy_in":  # its part of the output
            return [self.symbol(result[0])]
        for name in traits.writes:
            out += [self.symbol(t) for t in tensors_in(named.get(name), [])]
        parts = result if isinstance(result, (list, tuple)) else [result]
        fresh = []
        for part in parts:
            if part is None:
                fresh.append(None)
            fresh += tensors_in(part, [])
        for tensor in fresh:
            if tensor is None:
                if not traits.writes:
                    out.append(None)
            elif key_of(local(tensor)) not in before or not traits.writes:
                self.undefined.discard(key_of(local(tensor)))
                out.append(self.symbol(tensor))
        if traits.keeps_statistics and named.get("training"):
            out += [self.symbol(named[name]) for name in ("running_mean", "running_var") if named.get(name) is not None]
        return out

    def _generator_state(self, named):
        """Equal states draw equal numbers."""
        torch = sys.modules["torch"]
        generator = named.get("generator")
        state = generator.get_state() if generator is not None else torch.random.get_rng_state()
        digest = hashlib.blake2b(state.numpy().tobytes(), digest_size=6).digest()
        return [int.from_bytes(digest, "little"), 0]

    def snapshot(self, tensor):
        """(reference of the tensor, of a copy that the plan makes of it, number of the copying operator)"""
        copy = local(tensor).detach().clone()
        return self.symbol(tensor), self.symbol(copy), len(self.ops) - 1

    def settle(self, snapshots):
        """A reference for each snapshot: of the tensor itself, and without a copy, if nothing has written it since."""
        last = {}
        for n, (op, _) in enumerate(self.ops):
            last.update({ref[1]: n for ref in op["out"] if ref})
        kept = [last.get(original[1], -1) > n for original, _, n in snapshots]
        dropped = {n for (_, _, n), is_kept in zip(snapshots, kept) if not is_kept}
        self.ops = [op for n, op in enumerate(self.ops) if n not in dropped]
        return [copy if is_kept else original for (original, copy, _), is_kept in zip(snapshots, kept)]
