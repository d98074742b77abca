"""`./armsense arm`: enable, stop and move a running arm, also where there is no `ros2`.

    arm state                      # mode, fault and what to do, joint angles
    arm enable | disable | clear   # motors on, off; a fault is over
    arm stop                       # emergency stop; `clear` and `enable` end it
    arm home                       # back to the home pose
    arm jog joint2 0.1             # one joint by so many rad

An emergency stop by network is no safety function.
"""

import argparse
from collections.abc import Sequence
import sys
from typing import Any

from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from armsense.cli.command import answer
from armsense.errors import ArmsenseError
from armsense.schema import check_known
from armsense_msgs.msg import DriverMode
from armsense_node.arm_client import ArmClient, DRIVERS

DRIVER = {'enable': 'enable', 'disable': 'disable', 'clear': 'clear_fault',
          'stop': 'emergency_stop'}
CONTROLLERS = ('dynamic_controller', 'joint_space_controller')
MODES = {getattr(DriverMode, name): name
         for name in ('DISCONNECTED', 'STARTING', 'DISABLED', 'ENABLED', 'DAMPING')}
PATIENCE = 10.0    # [s] for whatever an arm that runs says at once
SPEED = 0.3        # [rad/s] of a jog
SHORTEST = 0.5     # [s]


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog='armsense arm', description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument('what', choices=('state', *DRIVER, 'home', 'jog'))
    out.add_argument('joint', nargs='?', help='to jog')
    out.add_argument('step', nargs='?', type=float, help='[rad] to jog')
    out.add_argument('--namespace', default='', help='of the arm')
    out.add_argument('--json', action='store_true', help='one JSON object as the last line')
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return answer('arm', lambda: _do(options), options.json)


def _do(options: argparse.Namespace) -> dict[str, Any]:
    if options.what == 'jog' and options.step is None:
        raise ArmsenseError('jog needs a joint and a step [rad], such as: jog joint2 0.1')
    with ArmClient('arm_command', options.namespace, PATIENCE) as client:
        if options.what in DRIVER:
            said = _call(client, DRIVERS, DRIVER[options.what])
        elif options.what == 'home':
            said = _call(client, CONTROLLERS, 'home')
        elif options.what == 'jog':
            said = _jog(client, options.joint, options.step)
        else:
            return _state(client, options.json)
    print(said, file=sys.stderr if options.json else sys.stdout)
    return {'what': options.what, 'said': said}


def _call(client: ArmClient, owners: Sequence[str], service: str) -> str:
    """Ask the node that runs; a refusal is an error."""
    asked = [client.service(Trigger, f'{owner}/{service}') for owner in owners]
    client.wait(lambda: any(one.service_is_ready() for one in asked),
                what=f'{" or ".join(owners)} of a running arm')
    owner = next(owner for owner, one in zip(owners, asked, strict=True) if one.service_is_ready())
    reply = client.call(f'{owner}/{service}')
    if not reply.success:
        raise ArmsenseError(f'{owner} refuses {service}: {reply.message}')
    return str(reply.message) or f'{service}: done'


def _joints(client: ArmClient) -> dict[str, float]:
    heard: list[JointState] = []
    client.node.create_subscription(JointState, 'joint_states', heard.append, 1)
    client.wait(lambda: heard, what='the joint states of a running arm')
    return dict(zip(heard[-1].name, heard[-1].position, strict=True))


def _jog(client: ArmClient, joint: str, step: float) -> str:
    """Through the controller, which refuses what exceeds a limit."""
    joints = _joints(client)
    check_known('joint', joint, joints)
    target = joints | {joint: joints[joint] + step}
    seconds = max(abs(step) / SPEED, SHORTEST)
    handle = client.send([(seconds, list(target.values()), [0.0] * len(target))], list(target))
    if not handle.accepted:
        raise ArmsenseError(f'the controller refuses to move {joint} to {target[joint]:.3f} rad')
    result = client.result(handle, PATIENCE + 3.0 * seconds)
    if result.error_code:
        raise ArmsenseError(f'{joint} did not get there: {result.error_string}')
    return f'{joint} is at {target[joint]:.3f} rad'


def _state(client: ArmClient, as_json: bool) -> dict[str, Any]:
    client.listen_to_mode()
    client.wait(lambda: client.mode is not None, what='the mode of a running arm')
    mode = client.mode
    assert mode is not None
    joints = _joints(client)
    found = {'mode': MODES.get(mode.mode, str(mode.mode)), 'fault': mode.fault,
             'explanation': mode.explanation, 'joints': joints}
    if not as_json:
        words = [found['mode'], *(text for text in (mode.fault, mode.explanation) if text)]
        print(': '.join(words))
        print(', '.join(f'{name} {angle:.3f}' for name, angle in joints.items()), 'rad')
    return found


if __name__ == '__main__':
    sys.exit(main())
