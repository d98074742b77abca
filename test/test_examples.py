"""Every example of the documentation runs, is short, and is listed."""

import json
import os
from pathlib import Path
import re
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / 'docs' / 'examples').glob('*.py'))


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_prints(path):
    answer = subprocess.run([sys.executable, str(path)], capture_output=True, text=True,
                            timeout=300)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip()
    assert len(path.read_text().splitlines()) < 60


def test_every_example_is_listed():
    page = (ROOT / 'docs' / 'examples.md').read_text()
    assert [path.name for path in EXAMPLES if path.name not in page] == []


def test_the_lines_of_the_readme_run_and_feel_the_push():
    lines = re.search(r'```python\n(.*?)```', (ROOT / 'README.md').read_text(), re.DOTALL)[1]
    answer = subprocess.run([sys.executable, '-c', lines], capture_output=True, text=True,
                            timeout=300)
    assert answer.returncode == 0, answer.stderr
    felt = re.match(r'felt (\d+) ms later', answer.stdout)
    assert 0 < int(felt[1]) <= 10


@pytest.mark.parametrize('path', sorted((ROOT / 'docs' / 'notebooks').glob('*.ipynb')),
                         ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path):
    cells = [''.join(cell['source']) for cell in json.loads(path.read_text())['cells']
             if cell['cell_type'] == 'code']
    script = tmp_path / 'notebook.py'
    script.write_text('\n'.join(cells) + '\nprint(armsense.__name__)\n')
    answer = subprocess.run([sys.executable, str(script)], capture_output=True, text=True,
                            cwd=path.parent, env=os.environ | {'MPLBACKEND': 'Agg'}, timeout=300)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.endswith('armsense\n')
