# SPDX-License-Identifier: Apache-2.0
"""What a source gives to its own functions, and they never read, and what its lines drop. A parameter may be there for a reason that no call shows: where others
call the function, where it stands for one of several, or is one of those that a base class asks for, nothing is said."""
import ast
import collections
import sys

_FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef
_PLAIN_BASES = "object", "Module", "nn.Module", "torch.nn.Module"
_PLAIN_DECORATORS = "staticmethod", "torch.no_grad()", "torch.inference_mode()"
_SEE_ALL = "locals", "vars", "eval", "exec"  # who calls these may read any name
_BY_OBJECT = "forward", "__call__"  # the object is called, and no line names them


def _texts(nodes):
    return [ast.unparse(node) for node in nodes]


def _read_names(nodes):
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Store)}


def _does_nothing(body):
    """An interface, or a stand-in."""
    return all(isinstance(line, (ast.Pass, ast.Raise)) or isinstance(line, (ast.Expr, ast.Return)) and isinstance(line.value, (ast.Constant, type(None)))
               for line in body)


def _called(call):
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", None)


class _Source:
    def __init__(self, tree):
        self.nodes = list(ast.walk(tree))
        self.around = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self.calls = collections.defaultdict(list)
        for node in self.nodes:
            if isinstance(node, ast.Call):
                self.calls[_called(node)].append(node)
        self.classes = [node for node in self.nodes if isinstance(node, ast.ClassDef)]
        self.functions = [node for node in self.nodes if isinstance(node, _FUNCTIONS)]
        self.n_named = collections.Counter(function.name for function in self.functions)
        heads = {call.func for calls in self.calls.values() for call in calls}
        self.handed_on = {getattr(node, "id", None) or node.attr for node in self.nodes
                          if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and node not in heads}

    def owner(self, function):
        """The class of a method, or None."""
        node = self.around[function]
        return node if isinstance(node, ast.ClassDef) else None

    def is_free(self, function):
        """Does nothing but its own lines decide what it reads?"""
        owner, name = self.owner(function), function.name
        if any(text not in _PLAIN_DECORATORS for text in _texts(function.decorator_list)) or _does_nothing(function.body):
            return False
        if owner is not None and (owner.decorator_list or any(text not in _PLAIN_BASES for text in _texts(owner.bases))
                                  or any(owner.name in _texts(other.bases) for other in self.classes)):
            return False
        if name in _BY_OBJECT:
            return owner is not None
        if name == "__init__":
            return owner is not None and owner.name not in self.handed_on
        is_one = self.n_named[name] == 1 and name not in self.handed_on and not name.startswith("__")
        return is_one and isinstance(self.around[function], (ast.Module, ast.ClassDef))

    def parameters(self, function):
        of, owner = function.args, self.owner(function)
        names = [arg.arg for arg in of.posonlyargs + of.args]
        return names[1:] if owner is not None and "staticmethod" not in _texts(function.decorator_list) else names

    def given(self, function, name):
        """What calls give to a parameter, as (call, expression); no constants."""
        owner, places = self.owner(function), self.parameters(function)
        for call in self.calls[owner.name if function.name == "__init__" else function.name]:
            values = [keyword.value for keyword in call.keywords if keyword.arg == name]
            place = places.index(name) if name in places else len(call.args)
            if place < len(call.args) and not any(isinstance(arg, ast.Starred) for arg in call.args):
                values.append(call.args[place])
            yield from ((call, value) for value in values if not isinstance(value, ast.Constant))

    def is_alone(self, call, value):
        """Has the script made it for this call, and reads it nowhere else?"""
        if isinstance(value, ast.Attribute):
            return not any(isinstance(node, ast.Attribute) and node.attr == value.attr and isinstance(node.ctx, ast.Load) and node is not value
                           for node in self.nodes)
        if not isinstance(value, ast.Name):
            return not isinstance(value, ast.Starred)
        scope = call
        while scope in self.around and not isinstance(scope, _FUNCTIONS):
            scope = self.around[scope]
        return not any(isinstance(node, ast.Name) and node.id == value.id and isinstance(node.ctx, ast.Load) and node is not value
                       for node in ast.walk(scope))

    def unread(self, function):
        """{parameter: is what it is given read nowhere else}"""
        read = _read_names(function.body)
        names = self.parameters(function) + [arg.arg for arg in function.args.kwonlyargs]
        left = [name for name in names if name not in read and not name.startswith("_")]
        if not left or not read.isdisjoint(_SEE_ALL) or not self.is_free(function):
            return {}
        if function.name in _BY_OBJECT:
            others = [self.parameters(other) for other in self.functions if other.name == function.name and other is not function]
            return {name: False for name in left if not any(name in names for names in others)}
        given = {name: list(self.given(function, name)) for name in left}
        return {name: all(self.is_alone(*each) for each in calls) for name, calls in given.items() if calls}


def find(tree, module):
    """
    Args:
        tree: of a source, as ast.parse() makes it
        module: the name of the module that it is
    Returns:
        dict[str, dict[str, bool]]: of each function, as calls name it, and of each class of modules, for its forward(): the parameters
            that it never reads, and whether what calls give them is read nowhere else
    """
    source, found = _Source(tree), {}
    for function in source.functions:
        owner, names = source.owner(function), source.unread(function)
        if names:
            path = [module] + ([owner.name] if owner else []) + ([function.name] if function.name != "forward" else [])
            found[".".join(path)] = names
    return found


def _returns_another(name):
    """Do tensors, arrays or functions of them have one of that name, which does not write to its own?"""
    modules = [sys.modules.get(module) for module in ("torch", "torch.nn.functional", "numpy")]
    owners = [getattr(modules[0], "Tensor", None), *modules[1:], getattr(modules[2], "ndarray", None)]
    return name and not name.endswith("_") and any(hasattr(owner, name) for owner in owners if owner is not None)


def _thrown_away(tree):
    """(node, what the call is named by) of each statement that drops what its call returns."""
    for node in ast.walk(tree):
        name = _called(node.value) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        if _returns_another(name) and sum(isinstance(inner, ast.Call) and _called(inner) == name for inner in ast.walk(node)) == 1:
            yield node, {name: True}


def _computes(node):
    """(name) that a statement gives what it computes, of other names or of this one."""
    name = node.targets[0].id if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) else None
    is_again = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and name in _read_names([node.value.func])
    return name if is_again or isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) else None


def _forgotten(tree):
    """(node, {"=": name}) of each statement of a function that computes what only such statements read."""
    for function in (node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)):
        nodes = list(ast.walk(function))
        computes = [(node, name) for node in nodes if (name := _computes(node)) and not name.startswith("_")]
        own = {inner for node, name in computes for inner in ast.walk(node.value) if isinstance(inner, ast.Name) and inner.id == name}
        read = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store) and node not in own}
        read |= {node.target.id for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}
        read |= {name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
        if read.isdisjoint(_SEE_ALL):
            yield from ((node, {"=": name}) for node, name in computes if name not in read)


def lines(tree, at):
    """
    Args:
        at: the file, as calls name it
    Returns:
        dict[str, dict]: of each line, as calls name it, which call of it returns what a statement drops; under "=", the name that is
            given what it computes, and that nothing reads
    """
    found = {}
    for node, told in (*_thrown_away(tree), *_forgotten(tree)):
        for line in range(node.lineno, node.end_lineno + 1):
            found.setdefault(f"{at}:{line}", {}).update(told)
    return found
