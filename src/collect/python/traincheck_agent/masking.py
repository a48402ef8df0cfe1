# SPDX-License-Identifier: Apache-2.0
"""The text of a source without the secrets that stand in it: string literals that it gives to a name that says so."""
import ast
import io
import re
import tokenize

from .named import parse
from .process import MASK, without_user
from .withheld import is_secret

_NAME = re.compile(r"[-\w.\[\]]+")  # what a string has to look like to be a name: "api_key", "--hf-token"
_QUOTED = re.compile(r"""(["'])(?:\\.|(?!\1)[^\\])*\1""")
_FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef
_FORMATTED = ast.JoinedStr, getattr(ast, "TemplateStr", ast.JoinedStr)


def _name(node):
    """What something is called that is given a value; "" where it has no name."""
    if isinstance(node, str):
        return node
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) and _NAME.fullmatch(node.value) else ""
    if isinstance(node, ast.Subscript):
        return _name(node.slice)
    return next((getattr(node, key) for key in ("id", "attr", "arg") if hasattr(node, key)), None) or ""


def _assigned(target, value):
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value
    elif isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
        yield from zip(target.elts, value.elts)
    else:
        yield from ((name, value) for name in target.elts)


def _defaults(node):
    positional = node.posonlyargs + node.args
    yield from zip(positional[len(positional) - len(node.defaults):], node.defaults)
    yield from zip(node.kwonlyargs, node.kw_defaults)


def _following(parts):
    """What stands behind a string that is a name: setattr(x, "token", ...), add_argument("--token", default=...)."""
    first = next((i for i, part in enumerate(parts) if isinstance(part, ast.Constant) and is_secret(_name(part))), len(parts))
    yield from ((parts[first], value) for value in parts[first + 1:])


def _parameters(function):
    names = [arg.arg for arg in function.posonlyargs + function.args]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def _functions(tree):
    """{name of a function or class that the source defines: its parameters}, of those that may be given a secret by its place."""
    found = {}
    for node in ast.walk(tree):
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            names = _parameters(function.args) if isinstance(function, _FUNCTIONS) else ()
            if any(map(is_secret, names)):
                found[node.name if function.name == "__init__" else function.name] = names
    return found


def _passed(node, functions):
    """set_token(...) is given nothing else, whatever its parameters are called."""
    name = _name(node.func)
    if is_secret(name):
        yield from ((name, value) for value in node.args)
    yield from zip(functions.get(name, ()), node.args)
    yield from _following(node.args + [keyword.value for keyword in node.keywords])


def _given(node, functions):
    """(what has the name, the expression that is given to it) of one node."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _assigned(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        yield node.target, node.value
    elif isinstance(node, ast.keyword):
        yield node, node.value
    elif isinstance(node, ast.Dict):
        yield from zip(node.keys, node.values)
    elif isinstance(node, ast.arguments):
        yield from _defaults(node)
    elif isinstance(node, ast.Call):
        yield from _passed(node, functions)
    elif isinstance(node, ast.Tuple) and len(node.elts) == 2:
        yield from _following(node.elts)
    elif isinstance(node, _FUNCTIONS) and is_secret(node.name):
        yield from ((node.name, inner.value) for inner in ast.walk(node) if isinstance(inner, ast.Return))


def _parts(node):
    """Those of an expression that may give it its value: not the key of a look-up, nor what is compared."""
    if isinstance(node, (ast.Lambda, ast.Compare)):
        return ()
    if isinstance(node, ast.Subscript):
        return (node.value,)
    return node.values if isinstance(node, ast.Dict) else ast.iter_child_nodes(node)


def _is_text(node):
    return isinstance(node, _FORMATTED) or isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def _literals(node):
    left = [node]
    while left:
        node = left.pop()
        if node is not None and _is_text(node):
            yield node
        elif node is not None:
            left.extend(_parts(node))


def _has_user(node):
    """https://user:password@host"""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and without_user(node.value) != node.value


def _secrets(tree):
    functions = _functions(tree)
    for node in ast.walk(tree):
        if _has_user(node):
            yield node
        for name, value in _given(node, functions):
            if is_secret(_name(name)):
                yield from _literals(value)


def _in_code(text):
    """(line, byte, line, byte) of each secret. Places within a formatted string are not known before Python 3.12: it goes as a whole."""
    tree, outer = parse(text), {}
    for node in ast.walk(tree):
        if isinstance(node, _FORMATTED) and node not in outer:
            outer.update((inner, node) for inner in ast.walk(node))
    for node in _secrets(tree):
        node = outer.get(node, node)
        yield node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _in_comments(text):
    """What is quoted in a comment that has such a word. Tokens are slow to make, so they are made where there may be one."""
    if not any("#" in line and _QUOTED.search(line) and is_secret(line) for line in text.split("\n")):
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and is_secret(token.string):
            line, column = token.start
            for found in _QUOTED.finditer(token.string):
                places = (len(token.line[:column + i].encode()) for i in found.span())
                yield line, next(places), line, next(places)


def masked(text):
    """
    Args:
        text: a source whose lines end with \\n
    Returns:
        str: the same lines, with *** in quotes for each secret
    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError: it cannot be read as Python
    """
    data = text.encode()
    starts = [0, *(found.end() for found in re.finditer(b"\n", data))]
    spans = sorted((starts[a - 1] + b, -starts[c - 1] - d) for a, b, c, d in {*_in_code(text), *_in_comments(text)})
    out, at = [], 0
    for begin, end in ((begin, -end) for begin, end in spans):
        if begin >= at:  # else it is part of the one before
            n_lines = data.count(b"\n", begin, end)
            quotes = b'"""' if n_lines else b'"'
            out += data[at:begin], quotes, MASK.encode(), b"\n" * n_lines, quotes
            at = end
    return b"".join((*out, data[at:])).decode()
