"""docs/nodes.md and the security policy say what the nodes do."""

import subprocess
import sys


def test_the_reference_matches_the_running_nodes():
    answer = subprocess.run([sys.executable, '-m', 'armsense_bringup.node_reference', '--check'],
                            capture_output=True, text=True, timeout=280)
    assert answer.returncode == 0, answer.stderr
