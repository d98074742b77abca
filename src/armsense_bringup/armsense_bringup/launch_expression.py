"""The expressions of `$(eval ...)`: comparisons, Boolean logic, arithmetic, nothing else.

The real launch gives the text to Python. Here it goes through the syntax tree, so that a launch
file cannot run code, and what this accepts means the same there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
import operator
from typing import Any

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items}


class ExpressionError(ValueError):
    """The text is no expression of the kind understood here."""


def evaluate(text: str) -> str:
    """The value of an expression, as text.

    Raises:
        ExpressionError: With the text and what is wrong with it.
    """
    try:
        return str(_value(ast.parse(text.strip(), mode='eval').body))
    except SyntaxError as error:
        raise ExpressionError(f'expression {text!r}: {error.msg}') from error
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ExpressionError(f'expression {text!r}: {error}') from error


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [_value(item) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    if isinstance(node, ast.BoolOp):
        return _boolean(node)
    if isinstance(node, ast.Compare):
        return _comparison(node)
    if isinstance(node, ast.IfExp):
        return _value(node.body) if _value(node.test) else _value(node.orelse)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.Name):
        raise ExpressionError(f'unknown name {node.id!r}; text needs quotes')
    raise ExpressionError(
        f'{ast.unparse(node)!r} is not understood; known: comparisons, in, and, or, not, '
        'if-else, + - * / // %, numbers, quoted text, lists')


def _boolean(node: ast.BoolOp) -> Any:
    stop_at = isinstance(node.op, ast.Or)
    value: Any = None
    for item in node.values:
        value = _value(item)
        if bool(value) is stop_at:
            break
    return value


def _comparison(node: ast.Compare) -> bool:
    left = _value(node.left)
    for operation, item in zip(node.ops, node.comparators, strict=True):
        right = _value(item)
        if type(operation) not in _COMPARE:
            raise ExpressionError("'is' is not understood; use == or !=")
        if not _COMPARE[type(operation)](left, right):
            return False
        left = right
    return True
