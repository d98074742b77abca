"""Every name of another project that our files use stands in the table, with its place."""

from pathlib import Path
import xml.etree.ElementTree as ElementTree

from public_names import (
    controller_names,
    known,
    launch_names,
    marker_names,
    parameter_names,
    ROOT,
    rviz_names,
    xml_names,
)
import pytest
import xacro
import yaml

from armsense.model import Arm
from armsense.sim.gazebo_description import description

WORLD = ROOT / 'config' / 'worlds' / 'obstacles.sdf'
GAZEBO = sorted((ROOT / 'config' / 'gazebo').glob('*.yaml'))


def gazebo_names() -> set[str]:
    used = {*launch_names(ROOT / 'launch' / 'gazebo.launch.xml'),
            *xml_names(ElementTree.parse(WORLD).getroot(), 'sdf')}
    for path in GAZEBO:
        text = description(Arm.load(path.stem), 'gazebo', path)
        used |= {*controller_names(path), *xml_names(ElementTree.fromstring(text), 'urdf')}
    return used


def ros2_control_names() -> set[str]:
    text = xacro.process_file(str(ROOT / 'urdf' / 'laas4.urdf.xacro'),
                              mappings={'hardware': 'topic'}).toxml()
    return {*launch_names(ROOT / 'launch' / 'ros2_control.launch.xml'),
            *controller_names(ROOT / 'config' / 'ros2_control.yaml'),
            *xml_names(ElementTree.fromstring(text), 'urdf')} - gazebo_names()


def rviz_all_names() -> set[str]:
    used = {*rviz_names(yaml.safe_load((ROOT / 'config' / 'armsense.rviz').read_text())),
            *launch_names(ROOT / 'launch' / 'arm.launch.xml')}
    for name in ('armsense_monitor/markers_node.py', 'armsense_collision/base_markers.py'):
        used |= {*marker_names((ROOT / 'src' / Path(name).parent / name).read_text())}
    return used


def moveit_names() -> set[str]:
    used = {*launch_names(ROOT / 'launch' / 'moveit.launch.xml')}
    for path in (ROOT / 'config' / 'moveit').rglob('*.yaml'):
        used |= {*parameter_names(path)}
    for path in (ROOT / 'config' / 'moveit').rglob('*.srdf'):
        used |= {*xml_names(ElementTree.parse(path).getroot(), 'srdf')}
    return used


PARTS = {'gazebo': gazebo_names, 'ros2_control': ros2_control_names, 'rviz': rviz_all_names,
         'moveit': moveit_names}


@pytest.mark.parametrize('part', PARTS)
def test_the_table_has_every_name_and_no_other(part):
    found, used = known(part), PARTS[part]()
    assert len(found) == len(set(found))
    assert used - set(found) == set()       # find it in the sources, then enter it with its place
    assert set(found) - used == set()


def test_the_broadcaster_comes_before_the_effort_controller():
    # With the effort controller Gazebo lets go of the joints; the bridge has to hear before.
    launch = ElementTree.parse(ROOT / 'launch' / 'gazebo.launch.xml').getroot()
    spawner, = (node for node in launch.iter('node') if node.get('exec') == 'spawner')
    words = spawner.get('args').split()
    assert words[:2] == ['joint_state_broadcaster', 'effort_controller']
    assert '--activate-as-group' not in words
