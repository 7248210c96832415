"""Mutants of a function: copies of it with one small slip each, such as people make.

Checks are good enough if they reject every mutant that computes something else. ``survivors.py``
tries them.
"""

import ast
import copy
import inspect
import itertools
import re
import string
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType

# what is easily written in the place of another of its row; `**` is replaced, but replaces
# nothing: powers of large whole numbers would take hours, and nothing can stop them
OPERATORS = [
    [ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.MatMult],
    [ast.Pow, ast.Mult],
    [ast.BitAnd, ast.BitOr, ast.BitXor],
    [ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq],
    [ast.Is, ast.IsNot],
    [ast.In, ast.NotIn],
    [ast.And, ast.Or],
]
COMMUTATIVE = ast.Add | ast.Mult | ast.BitAnd | ast.BitOr | ast.BitXor
NAMES = """
sum mean prod; min max; amin amax mean; argmin argmax; minimum maximum; any all
cumsum cumprod; floor ceil; exp log; sin cos; sqrt square abs; tril triu
tanh sigmoid relu; softmax log_softmax sigmoid; ones zeros eye; stack cat
ones_like zeros_like; start_dim end_dim
"""
NAMES = [row.split() for row in re.split("[;\n]", NAMES)]
PACKAGES = {"torch", "math", "F"}


@dataclass
class Mutant:
    """A function with a slip: the line that differs, what differs in it, and the whole source."""

    line: str
    slip: str  # "a → b": the same whatever the function calls its variables
    source: str


def mutants(function: Callable) -> list[Mutant]:
    """All mutants of a function, no two of them with the same line.

    Helpers, the functions of the same module that it names, are a part of it.
    """
    parts = _with_helpers(function)
    tree = ast.Module([_parsed(part) for part in parts], type_ignores=[])
    original = ast.unparse(tree)
    names = {name for definition in tree.body for name in _names(definition)}
    seen, found = {original}, {}
    for definition in tree.body:
        for node in list(ast.walk(definition))[1:]:
            for other in _alternatives(node, _variables(definition, node)):
                _put(other, node, tree)
                source = ast.unparse(tree)
                _put(node, other, tree)
                if source in seen:
                    continue
                seen.add(source)
                old, new = _lines_that_differ(original, source)
                line = f"without {old}" if new == "pass" else new
                if definition.name != parts[-1].__name__:
                    line = f"{definition.name}: {line}"
                if line in found:  # it can stand in the place of two lines
                    line += f"  # in line {node.lineno}"
                found[line] = Mutant(line, _slip(old, new, names), source)
    return list(found.values())


def define(source: str, function: Callable) -> Callable:
    """The function anew, from a mutant's source, among the names that it knows."""
    namespace = _namespace(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(source, namespace)
    return namespace[inspect.unwrap(function).__name__]


def _with_helpers(function: Callable) -> list[Callable]:
    """The function, after the helpers that it needs."""
    function, found = inspect.unwrap(function), []
    known = _namespace(function)
    for node in ast.walk(_parsed(function)):
        match node:
            case ast.Name(name, ast.Load()):
                helper = known.get(name)
                if isinstance(helper, FunctionType) and helper.__module__ == function.__module__:
                    found += _with_helpers(helper)
    return list(dict.fromkeys([*found, function]))


def _namespace(function: Callable) -> dict[str, object]:
    function = inspect.unwrap(function)
    around = inspect.getclosurevars(function).nonlocals
    return {**function.__globals__, **around}


def _parsed(function: Callable) -> ast.FunctionDef:
    """Its definition without decorators and docstring, and with -1 as one number."""
    source = textwrap.dedent(inspect.getsource(function))
    definition = ast.parse(source).body[0]
    definition.decorator_list = []
    if ast.get_docstring(definition):
        del definition.body[0]
    for node in list(ast.walk(definition)):
        match node:
            case ast.UnaryOp(ast.USub(), ast.Constant(value)):
                _put(ast.Constant(-value, lineno=node.lineno), node, definition)
    return definition


def _put(new: ast.AST, old: ast.AST, tree: ast.AST) -> None:
    class Put(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    Put().visit(tree)


def _lines_that_differ(before: str, after: str) -> tuple[str, str]:
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return next((a.strip(), b.strip()) for a, b in pairs if a != b)


def _names(definition: ast.FunctionDef) -> Iterator[str]:
    """What the author could call otherwise: the function, its arguments and its variables."""
    for node in ast.walk(definition):
        match node:
            case ast.FunctionDef(name) | ast.arg(name) | ast.Name(name, ast.Store()):
                yield name


def _slip(old: str, new: str, names: set[str]) -> str:
    """The words in which two lines differ, with names as letters, in the order of the lines."""
    letters = iter(string.ascii_letters)
    letter_of = {}
    sides = []
    for line in (old, new):
        words = re.findall(r"\w+|\W", line)
        for word in words:
            if word in names and word not in letter_of:
                letter_of[word] = next(letters)
        sides.append([letter_of.get(word, word) for word in words])
    start = _equal_words(*sides)
    rest = [side[start:] for side in sides]
    end = _equal_words(*(side[::-1] for side in rest))
    if end and min(map(len, rest)) == end:  # something is only added: what follows shows where
        end -= 1
    return " → ".join("".join(side[: len(side) - end]).strip() for side in rest)


def _equal_words(one: list[str], other: list[str]) -> int:
    """How many words at the beginning are the same."""
    pairs = zip(one, other, strict=False)
    return len([*itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)])


def _variables(definition: ast.FunctionDef, place: ast.AST) -> list[str]:
    """The function's arguments and what it has stored in the lines above."""
    names = [a.arg for a in ast.walk(definition.args) if isinstance(a, ast.arg)]
    below = getattr(place, "lineno", 0)
    for node in ast.walk(definition):
        match node:
            case ast.Name(name, ast.Store(), lineno=line) if line < below:
                names.append(name)
    return names


def _alternatives(node: ast.AST, variables: list[str]) -> Iterator[ast.AST]:
    """What may stand in the place of a node by mistake."""
    match node:
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(n) | float(n)):
            yield from map(ast.Constant, (n + 1, n - 1, 2 * n, -n, 0))
        case ast.Name(name, ast.Load()) if name in variables:
            yield from (ast.Name(v) for v in variables if v != name)
        case ast.Name(name, ast.Load()):
            yield from map(ast.Name, _others(NAMES, name))
        case ast.Attribute(value, name):
            yield from (_with(node, attr=n) for n in _others(NAMES, name))
            if name in ("T", "mT"):
                yield value
            if name == "inf":
                yield ast.Constant(0.0)
        case ast.keyword(name):
            yield from (_with(node, arg=n) for n in _others(NAMES, name))
        case ast.UnaryOp():
            yield node.operand
        case ast.BinOp(left, op, right):
            yield from (left, right)
            if not isinstance(op, COMMUTATIVE):
                yield _with(node, left=right, right=left)
            for other in _others(OPERATORS, type(op)):
                yield _with(node, op=other())
        case ast.Compare(ops=[op]):
            for other in _others(OPERATORS, type(op)):
                yield _with(node, ops=[other()])
        case ast.BoolOp(op, values):
            yield from values
            for other in _others(OPERATORS, type(op)):
                yield _with(node, op=other())
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.Call(function, arguments, keywords):
            yield from (a for a in arguments if not isinstance(a, ast.Starred))
            name = ast.unparse(function)
            if isinstance(function, ast.Attribute) and name.split(".")[0] not in PACKAGES:
                yield function.value
            for others in _rearranged(arguments):
                yield _with(node, args=others)
            for fewer in _shorter(keywords):
                yield _with(node, keywords=fewer)
            for i, bound in enumerate(arguments):
                for other in _shifted(bound) if name.endswith("range") else ():
                    others = [*arguments[:i], other, *arguments[i + 1 :]]
                    yield _with(node, args=others)
        case ast.Subscript(ctx=ast.Load()):
            yield node.value
        case ast.Slice(lower, upper):
            for other in (None, *_shifted(lower)):
                yield _with(node, lower=other)
            for other in (None, *_shifted(upper)):
                yield _with(node, upper=other)
        case ast.Tuple(ctx=ast.Load()) | ast.List(ctx=ast.Load()):
            for others in _rearranged(node.elts):
                yield _with(node, elts=others)
        case ast.comprehension(iter=items) | ast.For(iter=items):
            for fewer in "()", f"list({ast.unparse(items)})[1:]":
                yield _with(node, iter=ast.parse(fewer, mode="eval").body)
        case ast.If(test) | ast.While(test):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))
            yield _with(node, test=ast.Constant(True))
            yield ast.Pass()
        case ast.Assign(targets=[target]):
            stored = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
            if stored & set(variables):
                yield ast.Pass()
        case ast.Break():
            yield from (ast.Pass(), ast.Continue())
        case ast.Expr():
            yield ast.Pass()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    node = copy.copy(node)
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def _others(rows: list[list], item: object) -> list:
    others = [x for row in rows if item in row for x in row]
    return [x for x in others if x not in (item, ast.Pow)]


def _shifted(bound: ast.AST | None) -> list[ast.AST]:
    operators = [ast.Add(), ast.Sub()] if bound else []
    return [ast.BinOp(bound, op, ast.Constant(1)) for op in operators]


def _shorter(items: list) -> list[list]:
    return [items[:i] + items[i + 1 :] for i in range(len(items))]


def _rearranged(items: list) -> list[list]:
    """One item fewer, or two neighbours exchanged."""
    swapped = [[*items[:i], items[i + 1], items[i], *items[i + 2 :]] for i in range(len(items) - 1)]
    return _shorter(items) + swapped
