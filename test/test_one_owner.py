"""An idea has one owner: what was once in two places stays in one."""

import ast
from pathlib import Path
import re

import pytest

from bench.house_graph import Source

ROOT = Path(__file__).parents[1]
SOURCE = Source(ROOT)

# Idea: a pattern that only its owner writes down, and the owners.
OWNERS = {
    'type of arrays': (r'^\w+ = NDArray\[np\.float64\]', {'armsense.types'}),
    'progress of work': (r'^Progress = ', {'armsense.types'}),
    'torque limit of a joint': (r'np\.minimum\(model\.effort_limits', {
        'armsense.trajectory.limits'}),
    'checksum of a frame': (r'^def crc_bytes\b', {'armsense.boards.protocol.spi'}),
    'fields of serialised messages': (r'deserialize_cdr', {'armsense.recordings.bag_files'}),
    'shapes of links': (r"link\.find\w*\('(?:collision|visual)'\)", {
        'armsense.geometry.urdf_shapes', 'armsense.sim.elastic_link_plant'}),   # which cuts them
    'client of a running arm': (r'^class ArmClient\b', {'armsense_node.arm_client'}),
    'who may write where': (r'^def check_target\b', {'armsense.jobs.files'}),
    'age of commands': (r'COMMAND_STALE, ', {'armsense.boards.arbiter'}),
}
# Words that mean one thing on the way of a state, from bytes to report.
WORDS = ('ArmState', 'Reference', 'Collision', 'Detection', 'Reading', 'BoardState', 'Arm',
         'ArmConfig', 'ModelFile', 'Limits', 'Thresholds')


@pytest.mark.parametrize('idea', OWNERS)
def test_an_idea_has_one_owner(idea):
    pattern, owners = OWNERS[idea]
    found = {name for name, path in SOURCE.files.items()
             if re.search(pattern, path.read_text(), re.MULTILINE)}
    assert found == owners


@pytest.mark.parametrize('word', WORDS)
def test_a_word_means_one_thing(word):
    places = [name for name, tree in SOURCE.trees.items() for node in ast.walk(tree)
              if isinstance(node, ast.ClassDef) and node.name == word]
    assert len(places) == 1, places


def test_no_node_declares_a_parameter_by_itself():
    """Parameters are made from the fields of dataclasses, in one place."""
    places = [name for name, path in SOURCE.files.items()
              if 'declare_parameter' in path.read_text()]
    assert places == ['armsense_node.parameters']
