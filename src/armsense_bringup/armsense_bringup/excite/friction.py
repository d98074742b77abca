"""`./armsense excite friction`: constant velocities both ways, joint by joint, and a table.

excite friction --arm laas4 --out out/friction              # simulated: plan, drive, evaluate
excite friction --arm laas4 --out out/friction --plan       # only the motion, friction.yaml
excite friction --arm laas4 --out out/friction --bag run    # evaluate what was driven with it
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import sys
from typing import Any

from rich.console import Console

from armsense.cli.command import answer, console, table
from armsense.errors import ArmsenseError
from armsense.identify.friction.sweep import evaluate_sweep, FrictionSweep, JointFriction
from armsense.jobs.identify_job import recorded_motion, Setup
from armsense.model import Arm
from armsense.recordings.bag_files import BagFacts
from armsense_bringup.excite.run import drive


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog='armsense excite friction', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--arm', default='laas4', help='name or yaml file of the arm')
    parser.add_argument('--out', type=Path, default=Path('out/friction'), help='folder')
    parser.add_argument('--speeds', type=int, default=4, help='per joint')
    parser.add_argument('--plan', action='store_true', help='write the motion only')
    parser.add_argument('--bag', type=Path, help='evaluate this recording of OUT/friction.yaml')
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args(arguments)
    return answer('armsense', lambda: run(options, console(options.json)), options.json,
                  'cancelled')


def run(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Plan, drive and evaluate as far as asked."""
    model = Arm.load(options.arm)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / 'friction.yaml'
    if options.bag is None:
        FrictionSweep.plan(model, options.speeds).write(file)
    sweep = FrictionSweep.read(file, model.name)
    if options.plan:
        console.print(f'{file}: {sweep.trajectory().duration:.0f} s', soft_wrap=True)
        return {'file': str(file)}
    bag = options.bag or options.out / 'bag'
    if options.bag is None:
        drive(file, 1, bag, options.arm)
    found = evaluate(sweep, bag, options.arm)
    show(found, model, console)
    result = {'arm': model.name, 'bag': str(bag), 'joints': [_plain(f, model) for f in found]}
    (options.out / 'friction.json').write_text(json.dumps(result, indent=1))
    return result


def evaluate(sweep: FrictionSweep, bag: Path, arm: str) -> list[JointFriction]:
    """Friction from a recording of the sweep."""
    facts = BagFacts.read(bag)
    window = facts.window() if facts is not None else None
    if window is None:
        raise ArmsenseError(f'{bag} does not tell when the motion began; record it with '
                            'excite run')
    recording, _ = recorded_motion(bag, Setup.of_arm(arm))
    return evaluate_sweep(sweep, recording, window[0])


def show(found: list[JointFriction], model: Arm, console: Console) -> None:
    """As table 4.3 of thesis 004, with intervals and the joint side."""
    joints = table(f'{model.name}: friction from constant velocities, ± 95 %',
                   ('joint', 'speeds [rad/s]', 'viscous [Nm s/rad]', 'b_eq motor side [Nm s]',
                    'f [Nm]', 'line misses by [Nm]'), left=['joint'])
    for joint in found:
        half_v = 0.5 * (joint.viscous_interval[1] - joint.viscous_interval[0])
        half_c = 0.5 * (joint.coulomb_interval[1] - joint.coulomb_interval[0])
        joints.add_row(joint.joint, f'{joint.speeds[0]:g} to {joint.speeds[-1]:g}',
                       f'{joint.viscous:.5f} ± {half_v:.5f}',
                       f'{joint.motor_viscous(_gear(model, joint.joint)):.2e}',
                       f'{joint.coulomb:.4f} ± {half_c:.4f}', f'{joint.rms:.4f}')
    console.print(joints)


def _gear(model: Arm, joint: str) -> float:
    return model.config.joints[joint].gear_ratio


def _plain(joint: JointFriction, model: Arm) -> dict[str, Any]:
    return {'joint': joint.joint, 'speeds': joint.speeds.tolist(),
            'torques': [round(float(t), 6) for t in joint.torques],
            'viscous': joint.viscous, 'viscous_interval': joint.viscous_interval,
            'coulomb': joint.coulomb, 'coulomb_interval': joint.coulomb_interval,
            'b_eq': joint.motor_viscous(_gear(model, joint.joint)), 'rms': joint.rms}


if __name__ == '__main__':
    sys.exit(main())
