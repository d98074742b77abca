from __future__ import annotations

import json
import os
from pathlib import Path
import sys
from typing import Any

import pytest

# A stand-in for a node: it writes down how it was started, then does what its arguments say.
PROBE = """
import json, os, signal, sys, time
words = [w for w in sys.argv[1:]]
files = [words[i + 1] for i, w in enumerate(words) if w == '--params-file']
record = {
    'words': words, 'parameters': [open(f).read() for f in files], 'pid': os.getpid(),
    'environment': dict(os.environ), 'cwd': os.getcwd()}
with open(os.environ['PROBE_RECORD'], 'a') as out:
    out.write(json.dumps(record) + chr(10))
if 'orphan' in words and os.fork() == 0:
    time.sleep(60)
    os._exit(0)
if 'stubborn' in words:
    signal.signal(signal.SIGINT, lambda *_: os.write(1, b'not at SIGINT\\n'))
    signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'not at SIGTERM\\n'))
if 'slow' in words:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
if 'polite' in words:
    def leave(*_):
        time.sleep(0.5 * ('late' in words))
        os.write(1, b'leaving\\n')
        open(os.environ['PROBE_RECORD'] + '.left', 'a').write(f'{os.getpid()}\\n')
        sys.exit(0)
    signal.signal(signal.SIGINT, leave)
print('ready')
print('a complaint', file=sys.stderr)
if any(w in words for w in ('polite', 'slow', 'stubborn', 'run')):
    while True:
        time.sleep(0.05)   # a signal just before a long sleep would wait for its end
for word in words:
    if word.startswith('exit='):
        print('no newline', end='')
        sys.exit(int(word[5:]))
"""


class Prefix:
    """An installation with the package `fake`, whose executable `probe` records its start."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.record = root / 'record.jsonl'
        self.install('fake', 'probe', f'#!{sys.executable} -S\n{PROBE}')
        self.environment = dict(
            os.environ, AMENT_PREFIX_PATH=f'{root}{os.pathsep}'
            f'{os.environ.get("AMENT_PREFIX_PATH", "")}', PROBE_RECORD=str(self.record))

    def install(self, package: str, name: str, script: str) -> None:
        marker = self.root / 'share/ament_index/resource_index/packages' / package
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
        path = self.root / 'lib' / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script)
        path.chmod(0o755)

    def launch_file(self, body: str, name: str = 'test.launch.xml') -> Path:
        path = self.root / 'share/fake/launch' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'<launch>\n{body}\n</launch>\n')
        return path

    def records(self) -> list[dict[str, Any]]:
        """How the probes were started, in the order in which they ran."""
        if not self.record.exists():
            return []
        return [json.loads(line) for line in self.record.read_text().splitlines()]

    def left(self) -> set[int]:
        """Process ids of the polite probes that ended as they were asked to."""
        path = Path(f'{self.record}.left')
        return set(map(int, path.read_text().split())) if path.exists() else set()


@pytest.fixture
def prefix(tmp_path: Path) -> Prefix:
    return Prefix(tmp_path)
