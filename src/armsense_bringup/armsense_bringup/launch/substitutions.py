r"""The `$(name argument)` substitutions that our launch files use, as ROS 2 launch means them.

    $(var NAME)   $(find-pkg-share PACKAGE)   $(eval 'EXPRESSION')

An expression may have the first two inside. A backslash takes the next character as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
import re

from armsense_bringup.launch.expression import evaluate, ExpressionError
from armsense_bringup.launch.packages import package_share, PackageError

_PART = re.compile(r"""
      \\ (?P<escaped> .)
    | \$\(eval\ ' (?P<expression> (?: \\. | [^'\\] )* ) '\)
    | \$\( (?P<name> var | find-pkg-share )\  (?P<argument> [A-Za-z_][\w-]* ) \)
    | (?P<unknown> \$\( .* )
    """, re.VERBOSE | re.DOTALL)
_WORD = re.compile(r'(?: \$\( [^()]* \) | \S )+', re.VERBOSE)


class SubstitutionError(ValueError):
    """A substitution is misspelt or has no value."""


@dataclass
class Scope:
    """What substitutions see; a `<group>` works on a copy."""

    variables: dict[str, str]
    environment: dict[str, str]
    namespace: str | None = None  # what push_ros_namespace made; None where there was none

    def copy(self) -> Scope:
        return Scope(dict(self.variables), dict(self.environment), self.namespace)


def expand(text: str, scope: Scope) -> str:
    """The text with every substitution replaced by its value.

    Raises:
        SubstitutionError: One is not known, or has no value.
    """
    check_text(text)
    return _PART.sub(lambda part: _value(part, scope), text)


def check_text(text: str) -> bool:
    """Whether there are substitutions in a text.

    Raises:
        SubstitutionError: One is not known.
    """
    found = False
    for part in _PART.finditer(text):
        if part['unknown'] is not None:
            raise SubstitutionError(
                f"{part['unknown']!r} is not understood; known: $(var NAME), "
                "$(find-pkg-share PACKAGE), $(eval 'EXPRESSION')")
        if part['expression'] is not None:
            check_text(part['expression'])
        found |= part['escaped'] is None
    return found


def split_words(text: str) -> list[str]:
    """Split a command line at its spaces; what a substitution yields is never split."""
    if "'" in text or '"' in text or text[:1].isspace():
        raise SubstitutionError(f'{text!r}: words between single spaces, without quotes')
    words = _WORD.findall(text)
    for word in words:
        check_text(word)
    return words


def _value(part: re.Match[str], scope: Scope) -> str:
    if part['escaped'] is not None:
        return part['escaped']
    try:
        if part['expression'] is not None:
            return evaluate(expand(part['expression'], scope))
        if part['name'] == 'find-pkg-share':
            return str(package_share(part['argument'], scope.environment))
    except (PackageError, ExpressionError) as error:
        raise SubstitutionError(str(error)) from error
    if part['argument'] not in scope.variables:
        known = ', '.join(sorted(scope.variables)) or 'none'
        raise SubstitutionError(f'unknown variable {part["argument"]!r}; known: {known}')
    return scope.variables[part['argument']]
