"""A real browser for tests: Debian's Chromium without a window, drawing in software."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
from pathlib import Path
import shutil
from typing import Any

from playwright.sync_api import Browser, expect, Locator, Page, sync_playwright
import pytest

PICTURES = Path(__file__).resolve().parents[1] / 'out' / 'monitor'
DESKTOP, PHONE = {'width': 1280, 'height': 800}, {'width': 390, 'height': 844}
PANELS = {'width': 790, 'height': 900}     # the panels fill it: almost nothing is 3-D, and slow
PATIENCE = 120_000    # [ms] busy cores that draw in software
ARGUMENTS = ('--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader')


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Chromium; skips the test where there is none, unless this is CI, which must have it."""
    program = shutil.which('chromium') or shutil.which('google-chrome')
    if program is None:
        text = 'no browser on this machine: apt install chromium'
        if os.environ.get('CI'):
            pytest.fail(text)
        pytest.skip(text)
    PICTURES.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield chromium
        finally:
            chromium.close()


@contextlib.contextmanager
def open_page(chromium: Browser, address: str, size: Any = PANELS) -> Iterator[Page]:
    """A page with the arm on it.

    Args:
        chromium: The browser.
        address: Of the page.
        size: PANELS, DESKTOP or PHONE.
    """
    phone = size is PHONE
    page = chromium.new_page(viewport=size, has_touch=phone, is_mobile=phone)
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    expect(page.get_by_text('armsense laas4')).to_be_visible()
    try:
        yield page
    finally:
        page.close()


def press(button: Locator) -> None:
    """Press a button by the keyboard: a notification may lie over it."""
    button.focus()
    button.press('Enter')


def click(target: Locator) -> None:
    """Click without waiting for the page to stand still, which takes for ever in software."""
    expect(target).to_be_visible()
    box = target.bounding_box()
    assert box is not None
    target.page.mouse.click(box['x'] + 0.5 * box['width'], box['y'] + 0.5 * box['height'])


def take_picture(page: Page, name: str) -> None:
    """Into out/monitor, without the browser's complaint about software."""
    complaint = page.get_by_role('alert').get_by_role('button')
    if complaint.count():
        press(complaint.first)
    page.wait_for_timeout(3000)
    page.screenshot(path=PICTURES / name, timeout=PATIENCE)
