"""The expressions of `$(eval ...)`: comparisons and Boolean logic, nothing else.

The real launch gives the text to Python. Here it goes through the syntax tree, so that a launch
file cannot run code, and what this accepts means the same there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
import operator
from typing import Any

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
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
    except (TypeError, ValueError) as error:
        raise ExpressionError(f'expression {text!r}: {error}') from error


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _value(node.operand)
    if isinstance(node, ast.BoolOp):
        return _boolean(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
        return _COMPARE[type(node.ops[0])](_value(node.left), _value(node.comparators[0]))
    if isinstance(node, ast.Name):
        raise ExpressionError(f'unknown name {node.id!r}; text needs quotes')
    raise ExpressionError(f'{ast.unparse(node)!r} is not understood; known: == != in, not in, '
                          'and, or, not, numbers, quoted text, lists')


def _boolean(node: ast.BoolOp) -> Any:
    stop_at = isinstance(node.op, ast.Or)
    value: Any = None
    for item in node.values:
        value = _value(item)
        if bool(value) is stop_at:
            break
    return value
