"""Picture of an identification report, for the documentation.

    python docs/images/report_image.py out/report.html docs/images/report.png

Needs Chromium. The report is that of the three commands in docs/identification.md.
"""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

from PIL import Image

WINDOW = (1200, 1190)    # [px] of the page
WIDTH = 900              # [px] of the picture
NAMES = ('chromium', 'chromium-browser', 'google-chrome')


def main(page: str, picture: str) -> None:
    """Photograph the top of a page."""
    browser = next((path for path in map(shutil.which, NAMES) if path), None)
    if browser is None:
        sys.exit(f'none of {", ".join(NAMES)} is installed: apt install chromium')
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / 'shot.png'
        subprocess.run([browser, '--headless', '--no-sandbox', '--disable-gpu',
                        '--hide-scrollbars', f'--window-size={WINDOW[0]},{WINDOW[1]}',
                        f'--screenshot={shot}', Path(page).resolve().as_uri()],
                       check=True, capture_output=True)
        image = Image.open(shot).convert('RGB')
        height = round(WIDTH * image.height / image.width)
        image.resize((WIDTH, height), Image.Resampling.LANCZOS).quantize(
            256, Image.Quantize.FASTOCTREE).save(
            picture, optimize=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
