"""Changes of what a page shows, sent only where something changed."""

from __future__ import annotations

from typing import Any

import viser


def show(handle: viser.GuiHtmlHandle | viser.GuiMarkdownHandle, content: str) -> None:
    """Another text."""
    if handle.content != content:
        handle.content = content


def put(handle: Any, value: object) -> None:
    """Another value of an input; viser's callbacks get it without a page (`client` is None)."""
    if handle.value != value:
        handle.value = value
