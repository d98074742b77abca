"""Services that say in words what they did, or why they cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from armsense.errors import ArmsenseError


def served(act: Callable[[Any], str | None]) -> Callable[[Any, Any], Any]:
    """Callback of a service with `success` and `message`; `act` may say what it does."""
    def serve(request: Any, response: Any) -> Any:
        try:
            response.message, response.success = act(request) or 'accepted', True
        except ArmsenseError as error:
            response.success, response.message = False, str(error)
        return response
    return serve
