"""The files for Foxglove and RViz name topics, fields and classes that exist."""

import json
import re

import yaml

from armsense.share import find
from armsense_monitor import recorder_node

RECORDED = {f'/{topic.lstrip("/")}': kind for topic, kind in recorder_node.TOPICS.items()}
CLASSES = {'Grid', 'RobotModel', 'MarkerArray', 'Wrench', 'TF', 'MoveCamera', 'Select', 'Measure',
           'Orbit'}
TOPICS = {'robot_description', 'markers', 'base/wrench'}


def values(tree, key):
    """All values of a key, however deep."""
    if isinstance(tree, dict):
        for name, item in tree.items():
            if name == key:
                yield item
            yield from values(item, key)
    elif isinstance(tree, list):
        for item in tree:
            yield from values(item, key)


def panels_of(layout):
    if isinstance(layout, str):
        return {layout}
    return panels_of(layout['first']) | panels_of(layout['second'])


def test_foxglove_layout_shows_what_is_recorded():
    layout = json.loads(find('config/foxglove_layout.json').read_text())
    assert panels_of(layout['layout']) == set(layout['configById'])
    paths = [path['value'] for paths in values(layout['configById'], 'paths') for path in paths]
    assert len(paths) > 15
    for path in paths:
        topic, field = re.match(r'(/[\w/]+)\.(\w+)', path).groups()
        assert field in RECORDED[topic].get_fields_and_field_types(), path
    assert layout['configById']['RawMessages!contact']['topicPath'] in RECORDED
    assert layout['configById']['DiagnosticSummary!health']['topicToRender'] in RECORDED
    arm = layout['configById']['3D!arm']['layers']['arm']
    assert arm['topic'] == f'/{recorder_node.DESCRIPTION}'


def test_rviz_file_names_standard_classes_and_our_topics():
    config = yaml.safe_load(find('config/armsense.rviz').read_text())
    manager = config['Visualization Manager']
    for name in values(manager, 'Class'):
        assert not name or name.removeprefix('rviz_default_plugins/') in CLASSES, name
    topics = [*values(manager, 'Topic'), *values(manager, 'Description Topic')]
    assert {topic['Value'] for topic in topics} == TOPICS
    assert manager['Global Options']['Fixed Frame'] == 'base_link'
