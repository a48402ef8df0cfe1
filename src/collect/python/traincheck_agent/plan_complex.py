# SPDX-License-Identifier: Apache-2.0
"""Complex numbers in a plan: pairs of real ones, as view_as_real has them.

A plan has real tensors only. An operator on complex tensors is run as operators on their real and imaginary parts, which
the recorder writes down. Views of a complex tensor are views of its storage, so they need nothing. Of other operators the
pairs are written as what they read and make, under a name that has no rule."""
import sys

# What these do to a complex tensor they do to its real and to its imaginary part.
_BY_PARTS = {"add", "add_", "sub", "sub_", "neg", "neg_", "sum", "mean", "clone", "copy_", "zero_", "cat", "stack",
             "index", "index_put", "index_put_", "index_select", "slice_backward", "select_backward", "_to_copy",
             "_unsafe_view", "flip", "where"}
# Without dim these go over all dimensions.
_ALL_DIMENSIONS = {"sum": lambda aten: aten.sum.dim_IntList, "mean": lambda aten: aten.mean.dim}


def concerns(traits, named, read):
    """Is a complex tensor among those that it reads, or is the result one?"""
    return any(t.is_complex() for t in read) or traits.base in ("aten.complex", "aten.polar") or \
        getattr(named.get("dtype"), "is_complex", False)


def is_lazy(tensor):
    """Will it be negated, or its conjugate be taken, when it is read?"""
    return tensor.is_neg() or tensor.is_conj()


def pairs(tensor):
    """A view of a complex tensor as a real one. One whose conjugate is not taken yet is as its storage has it."""
    return sys.modules["torch"].view_as_real(tensor.detach().conj() if tensor.is_conj() else tensor.detach())


def _gives_complex(traits, named):
    """Not so where the imaginary part is left out. An overload for a number takes no pair."""
    dtype = named.get("dtype")
    return "Scalar" not in traits.name and (dtype is None or dtype.is_complex) and \
        not (traits.writes and not named["self"].is_complex())


def _aten():
    return sys.modules["torch"].ops.aten


class Pairs:
    """Runs operators on complex tensors by operators on pairs."""

    def __init__(self, dispatch):
        """dispatch(operator, args, kwargs): runs and records one."""
        self.dispatch = dispatch
        self.known = {"mul": self._mul, "div": self._div, "conj_physical": self._conj_physical, "abs": self._abs,
                      "sgn": self._sgn, "rsub": self._rsub, "complex": self._complex_of, "polar": self._polar}

    def run(self, traits, func, named, read):
        """The result of an operator that reads these tensors, or NotImplemented where nothing is known of the operator."""
        known = self.known.get(traits.short.rstrip("_"))
        if known is not None and not traits.writes:
            result = known(named)
        elif known is not None and traits.writes == ["self"]:
            result = self._write(named["self"], known(named))
        elif traits.short in _BY_PARTS and _gives_complex(traits, named):
            result = self._by_parts(traits, func, named, read)
        else:
            result = NotImplemented
        return result

    def settle(self, value):
        """The same arguments, with what is_lazy() means done, and recorded."""
        torch = sys.modules["torch"]
        if isinstance(value, dict):
            value = {name: self.settle(part) for name, part in value.items()}
        elif isinstance(value, (list, tuple)):
            value = type(value)(map(self.settle, value))
        elif isinstance(value, torch.Tensor) and value.is_conj():
            value = self._call(_aten().conj_physical.default, value.conj())
        elif isinstance(value, torch.Tensor) and value.is_neg():
            value = self._call(_aten().neg.default, torch._neg_view(value))
        return value

    def _call(self, operator, *args, **kwargs):
        return self.dispatch(operator, args, kwargs)

    def _real(self, tensor):
        """The pairs of a tensor or number; those of a real one have 0 as imaginary part."""
        torch = sys.modules["torch"]
        if isinstance(tensor, (int, float, complex)):
            return torch.tensor([tensor.real, tensor.imag])
        if tensor.is_complex():
            return pairs(tensor)
        return self._call(_aten().stack.default, [tensor, torch.zeros_like(tensor)], -1)

    def _complex(self, real, imaginary):
        torch = sys.modules["torch"]
        return torch.view_as_complex(self._call(_aten().stack.default, [real, imaginary], -1))

    def _write(self, to, value):
        torch = sys.modules["torch"]
        self._call(_aten().copy_.default, torch.view_as_real(to), torch.view_as_real(value))
        return to

    def _by_parts(self, traits, func, named, read):
        n = max(t.dim() for t in [t for t in read if t.is_complex()] or [named["self"]]) + (traits.short == "stack")
        given = {name: self._part(name, value, n) for name, value in named.items() if name != "memory_format"}
        if traits.short in _ALL_DIMENSIONS and not given.get("dim"):
            func, given["dim"] = _ALL_DIMENSIONS[traits.short](_aten()), list(range(n))
        result = self.dispatch(func, (), given)
        return named["self"] if traits.writes else sys.modules["torch"].view_as_complex(result)

    def _part(self, name, value, n):
        """An argument of an operator on tensors of n dimensions, as the operator on pairs has it."""
        torch = sys.modules["torch"]
        if name == "condition":
            return value.unsqueeze(-1)
        if isinstance(value, torch.Tensor):
            return self._real(value) if value.is_complex() or name in ("self", "other", "src") else value
        if name in ("self", "other") and isinstance(value, (int, float, complex)):
            return self._real(value)
        if name == "tensors":
            return [self._real(t) for t in value]
        if name == "dim" and isinstance(value, int):
            return value % n if value < 0 else value
        if name in ("dim", "dims") and value is not None:
            return [d % n for d in value]
        if name in ("input_sizes", "size"):
            return [*value, 2]
        return value.to_real() if isinstance(value, torch.dtype) and value.is_complex else value

    def _parts(self, tensor):
        """(real, imaginary) of a tensor; (it, None) of a real one."""
        torch = sys.modules["torch"]
        if not isinstance(tensor, torch.Tensor):
            return (tensor.real, tensor.imag) if isinstance(tensor, complex) else (tensor, None)
        return pairs(tensor).unbind(-1) if tensor.is_complex() else (tensor, None)

    def _product(self, a, b):
        return self._call(_aten().mul.Tensor if hasattr(b, "dim") else _aten().mul.Scalar, a, b)

    def _mul(self, named):
        return self._times(named["self"], named["other"])

    def _times(self, x, y):
        (a, b), (c, d) = self._parts(x), self._parts(y)
        if b is None:
            a, b, c, d = c, d, a, b
        if d is None:
            return self._complex(self._product(a, c), self._product(b, c))
        return self._complex(self._call(_aten().sub.Tensor, self._product(a, c), self._product(b, d)),
                             self._call(_aten().add.Tensor, self._product(a, d), self._product(b, c)))

    def _div(self, named):
        (a, b), (c, d) = self._parts(named["self"]), self._parts(named["other"])
        if d is not None:
            (a, b), c = self._parts(self._times(named["self"], self._conjugate(c, d))), self._square(c, d)
        divide = _aten().div.Tensor if hasattr(c, "dim") else _aten().div.Scalar
        return self._complex(self._call(divide, a, c), self._call(divide, b, c))

    def _conjugate(self, real, imaginary):
        return self._complex(real, self._call(_aten().neg.default, imaginary))

    def _conj_physical(self, named):
        return self._conjugate(*self._parts(named["self"]))

    def _square(self, real, imaginary):
        return self._call(_aten().add.Tensor, self._product(real, real), self._product(imaginary, imaginary))

    def _abs(self, named):
        return self._call(_aten().sqrt.default, self._square(*self._parts(named["self"])))

    def _sgn(self, named):
        return self._div({**named, "other": self._abs(named)})

    def _rsub(self, named):
        less = self._real(named["self"])
        if named.get("alpha", 1) != 1:
            less = self._product(less, named["alpha"])
        return sys.modules["torch"].view_as_complex(self._call(_aten().sub.Tensor, self._real(named["other"]), less))

    def _complex_of(self, named):
        return self._complex(named["real"], named["imag"])

    def _polar(self, named):
        size, angle = named["abs"], named["angle"]
        return self._complex(self._product(size, self._call(_aten().cos.default, angle)),
                             self._product(size, self._call(_aten().sin.default, angle)))
