"""Dockerfile, compose.yaml and devcontainer.json: every path, stage and command in them exists."""

import json
from pathlib import Path
import re

import yaml

from armsense_bringup.command_line import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / 'docker'
DOCKERFILE = re.sub(r'\\\n\s*', '', (FOLDER / 'Dockerfile').read_text())
STEPS = [line.split(maxsplit=1) for line in DOCKERFILE.splitlines()
         if line and not line.startswith('#')]
SERVICES = yaml.safe_load((FOLDER / 'compose.yaml').read_text())['services']
DEVCONTAINER = ROOT / '.devcontainer' / 'devcontainer.json'
STAGES = re.findall(r'^FROM \S+ AS (\w+)$', DOCKERFILE, re.MULTILINE)
# Some of the schema of devcontainer.json (github.com/devcontainers/spec).
PROPERTIES = {'name', 'build', 'remoteUser', 'runArgs', 'postCreateCommand', 'customizations'}


def steps(kind):
    return [rest for name, rest in STEPS if name == kind]


def test_stages_stand_on_one_pinned_image_or_on_each_other():
    bases = re.findall(r'^FROM (\S+)', DOCKERFILE, re.MULTILINE)
    assert set(bases) <= {'ros:jazzy-ros-base-noble', *STAGES}
    assert len(bases) == len(STAGES)


def test_what_is_copied_exists():
    for words in map(str.split, steps('COPY')):
        names = [word for word in words if not word.startswith('--')][:-1]
        stage = [word.split('=')[1] for word in words if word.startswith('--from=')]
        assert set(stage) <= set(STAGES)
        assert stage or all((ROOT / name).exists() for name in names)


def test_nothing_runs_as_root():
    assert steps('USER') == ['1000']         # the user ubuntu of Ubuntu's images from 24.04 on
    assert STEPS.index(['USER', '1000']) < STEPS.index(['FROM', 'tools AS arm'])
    assert 'privileged' not in json.dumps(SERVICES)
    assert 'cap_add' not in json.dumps(SERVICES)


def test_the_image_is_entered_through_ros_and_our_script():
    workdir, = steps('WORKDIR')
    entry, = map(json.loads, steps('ENTRYPOINT'))
    assert entry == ['/ros_entrypoint.sh', f'{workdir}/armsense']
    assert (ROOT / 'armsense').exists()
    assert json.loads(steps('CMD')[0]) == ['help']
    used = re.findall(r'\./armsense (\w+)', DOCKERFILE + DEVCONTAINER.read_text())
    assert used == ['build', 'build']
    assert set(used) <= set(COMMANDS)


def test_rosdep_alone_knows_what_apt_installs():
    assert not re.search(r'ros-jazzy-(?!ros-base)', DOCKERFILE)   # those are in package.xml
    assert 'rosdep install --rosdistro jazzy --from-paths /tmp/src --ignore-src' in DOCKERFILE


def test_services_are_built_from_what_is_here():
    build = SERVICES['arm']['build']
    context = FOLDER / build['context']
    assert context.resolve() == ROOT
    assert (context / build['dockerfile']).samefile(FOLDER / 'Dockerfile')
    assert build['target'] in STAGES
    assert SERVICES['arm']['volumes'] == [f'../out:{steps("WORKDIR")[0]}/out']


def test_only_the_container_of_the_real_arm_needs_its_devices():
    assert 'devices' not in SERVICES['arm']        # one that is missing stops any container
    assert SERVICES['real_arm']['extends'] == {'service': 'arm'}
    assert SERVICES['real_arm']['devices']


def test_commands_that_users_are_told_exist():
    texts = [path.read_text() for path in (FOLDER / 'compose.yaml', ROOT / 'README.md')]
    told = re.findall(r'run --rm (\w+) (\w+)', '\n'.join(texts))
    assert len(told) >= 4
    for service, command in told:
        assert service in SERVICES
        assert command in COMMANDS
    for name in re.findall(r'ros2 launch armsense_bringup (\S+)', '\n'.join(texts)):
        assert (ROOT / 'launch' / name).exists()


def test_the_development_container_uses_the_same_image():
    settings = json.loads(DEVCONTAINER.read_text())
    assert set(settings) <= PROPERTIES
    build = settings['build']
    assert set(build) == {'dockerfile', 'context', 'target'}
    assert (DEVCONTAINER.parent / build['dockerfile']).samefile(FOLDER / 'Dockerfile')
    assert (DEVCONTAINER.parent / build['context']).samefile(ROOT)
    assert build['target'] in STAGES
    assert settings['remoteUser'] == 'ubuntu'
    limits = {word for word in settings['runArgs'] if 'ulimit' in word}
    assert limits == {f'--ulimit={name}={value}'
                      for name, value in SERVICES['arm']['ulimits'].items()}
