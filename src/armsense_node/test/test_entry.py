"""The executables of the nodes."""

import os
from pathlib import Path
import re
import signal
import subprocess
import sys

import pytest

SOURCES = Path(__file__).resolve().parents[2]
SCRIPT = 'import sys\nfrom armsense_node.entry import main\nsys.exit(main())\n'


def started(folder, module):
    """The executable `slow` of the package `fake`."""
    package, script = folder / 'fake', folder / 'lib' / 'fake' / 'slow'
    for made in (package, script.parent):
        made.mkdir(parents=True)
    (package / '__init__.py').touch()
    (package / 'slow_node.py').write_text(module)
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(folder), os.environ.get('PYTHONPATH', '')])
    # Whoever runs the tests in the background ignores SIGINT, and so would the child.
    return subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                            env={**os.environ, 'PYTHONPATH': path})


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_imports_ends_a_node_without_a_word(tmp_path, number):
    process = started(tmp_path, 'import time\nprint("importing", flush=True)\ntime.sleep(60)\n')
    assert process.stdout.readline() == 'importing\n'
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, '')


def test_a_signal_to_a_node_that_ends_by_itself_changes_nothing(tmp_path):
    process = started(tmp_path, 'import atexit, time\ndef main():\n    atexit.register(time.sleep,'
                      ' 2)\n    atexit.register(print, "ending", flush=True)\n    return 0\n')
    assert process.stdout.readline() == 'ending\n'
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, '')


def test_the_node_itself_gets_the_signals_as_they_were(tmp_path):
    process = started(tmp_path, 'import signal\ndef main():\n    print(signal.getsignal('
                      'signal.SIGINT) is signal.default_int_handler)\n    return 3\n')
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (3, 'True\n')


@pytest.mark.parametrize('setup', sorted(SOURCES.glob('armsense_*/setup.py')),
                         ids=lambda path: path.parent.name)
def test_every_executable_has_its_module(setup):
    """`PACKAGE/NAME` runs PACKAGE.NAME_node; none of them imports anything before."""
    package = setup.parent.name
    for name, target in re.findall(r"'(\w+) = ([\w.]+:\w+)'", setup.read_text()):
        assert target == 'armsense_node.entry:main'
        assert (setup.parent / package / f'{name}_node.py').exists(), name
