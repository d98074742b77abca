"""Identify a robot's dynamics: recordings in, model and report out.

For example:

    identify BAG|CSV... --robot ROBOT.yaml --out model.yaml [--validate FILE...] [--json]
    identify BAG --arm laas4 --out model.yaml
    identify BAG --arm laas4 --payload LOADED_BAG
    identify BAG --robot ROBOT.yaml --payload LOADED_BAG --payload-mass 2.8   (drive gains)
    identify 'bags/*' --arm laas4 --fleet out/fleet [--jobs 8 | --dask tcp://host:8786]
"""

import argparse
from collections.abc import Sequence
import dataclasses
import os
from pathlib import Path
import sys
from typing import Any

import numpy as np
from rich.console import Console

from armsense.cli.command import answer, console, step_bar, table
from armsense.cli.fleet import run_fleet, show_fleet
from armsense.errors import ArmsenseError, BadValue
from armsense.identify.estimation.training import ESTIMATORS, PREPROCESSING
from armsense.identify.gains import calibrate_gains, KnownLoad
from armsense.identify.gauges import has_gauges, referred
from armsense.identify.payload import find_payload, payload_words
from armsense.identify.robot_file import RobotFile
from armsense.identify.signals.recording import Recording
from armsense.identify.urdf_output import identified_urdf
from armsense.jobs.files import check_target, expand
from armsense.jobs.identify_job import Identification, recorded_motion, run, Setup
from armsense.recordings.bag_files import BagFacts


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog='armsense identify', description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument('data', nargs='+', help='bags, csv files, folders or globs to train with')
    which = out.add_mutually_exclusive_group()
    which.add_argument('--robot', type=Path, help='robot file (yaml) of a robot of your own')
    which.add_argument('--arm', help='an arm or a robot by name, its yaml file, or a URDF; '
                       'default: that of the bag, where it tells')
    out.add_argument('--out', type=Path,
                     help='model file to write (yaml); report.html and report.json go beside it')
    out.add_argument('--validate', nargs='+', default=[], help='other recordings')
    out.add_argument('--estimator', choices=ESTIMATORS, help='default: physically consistent')
    out.add_argument('--preprocess', choices=PREPROCESSING, help='default: auto')
    out.add_argument('--topic', help='of the states, where a bag has several arms or names them '
                     'otherwise')
    out.add_argument('--payload', type=Path, nargs='+', default=[], metavar='FILE',
                     help='recordings of the same arm with a load; its mass and centre are told')
    out.add_argument('--payload-mass', type=float, nargs='+', default=[], metavar='KG',
                     help='of these loads, weighed: then the gains of the drives are told instead')
    out.add_argument('--payload-center', type=float, nargs=3, metavar='M',
                     help='of the load in the frame of the last link, where it is known')
    out.add_argument('--urdf', type=Path, help='file to write the identified description to')
    out.add_argument('--fleet', type=Path, metavar='FOLDER',
                     help='one model per arm and day, and what changed between them')
    out.add_argument('--jobs', type=int, default=os.cpu_count() or 1, help='processes of --fleet')
    out.add_argument('--dask', metavar='SCHEDULER', help='address of a Dask scheduler (--fleet)')
    out.add_argument('--json', action='store_true', help='one JSON object as the last line')
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    work = _fleet if options.fleet else _single
    return answer('identify', lambda: work(options, _setup(options), console(options.json)),
                  options.json, 'interrupted; nothing was written')


def _setup(options: argparse.Namespace) -> Setup:
    """The robot, with the choices of the command line."""
    setup = (Setup.of_robot(RobotFile.read(options.robot), expand(options.data)[0])
               if options.robot else Setup.of_arm(options.arm or _told(options)))
    given: dict[str, Any] = {
        name: getattr(options, name) for name in ('estimator', 'preprocess')
        if getattr(options, name)}
    source = dataclasses.replace(setup.source, topic=options.topic or setup.source.topic)
    return setup._replace(source=source, options=dataclasses.replace(setup.options, **given))


def _told(options: argparse.Namespace) -> str:
    """The arm that the first recording names."""
    bag = expand(options.data)[0]
    arm = (BagFacts.read(bag) or BagFacts()).arm_of(bag)
    if not arm:
        raise ArmsenseError(f'{bag} does not tell whose it is: give --arm or --robot')
    return arm


def _single(options: argparse.Namespace, setup: Setup, console: Console) -> dict[str, Any]:
    """One model of all recordings."""
    for target, example in ((options.out, 'model.yaml'), (options.urdf, 'arm.urdf')):
        if target:
            check_target(target, example)
    if options.payload_mass and len(options.payload_mass) != len(options.payload):
        raise BadValue('number of --payload-mass', len(options.payload_mass),
                       f'{len(options.payload)}, one for each recording of --payload')
    loaded = [recorded_motion(path, setup)[0] for path in options.payload]
    with step_bar(transient=True) as bar:
        task = bar.add_task('', total=1.0)
        job = run(setup, expand(options.data), expand(options.validate),
                  lambda share, step: bar.update(task, completed=share, description=step))
        if options.out:
            bar.update(task, completed=0.9, description='writing the report')
            # matplotlib takes a second to load: only where figures are drawn
            from armsense.report.page import write_all
            written = write_all(job, options.out)
        bar.update(task, completed=1.0, description='done')
    result = dict(job.result)
    show(job, console)
    if has_gauges(setup.arm):
        loaded = [referred(one, setup.arm, job.model.model) for one in loaded]
    if options.payload_mass:
        result['gains'] = _gains(job, loaded, options, console)
    elif loaded:
        found = [find_payload(job.model, one, job.training[0]) for one in loaded]
        result['payload'] = found[0] if len(found) == 1 else found
        for one in found:
            console.print(payload_words(one))
    if options.urdf:
        options.urdf.write_text(identified_urdf(job.model))
        console.print(f'written: {options.urdf}', soft_wrap=True)
    if options.out:
        console.print(f'written: {", ".join(map(str, written))}', soft_wrap=True)
    return result


def _gains(job: Identification, loaded: Sequence[Recording], options: argparse.Namespace,
           console: Console) -> list[dict[str, Any]]:
    """Gains of the drives from loads that were weighed."""
    center = None if options.payload_center is None else np.array(options.payload_center)
    found = calibrate_gains(job.model, [
        KnownLoad(recording, mass, center)
        for recording, mass in zip(loaded, options.payload_mass, strict=True)], job.training[0])
    robot = job.setup.robot
    told = np.ones(job.model.model.n)
    if robot is not None and robot.drive.gains:
        told = robot.in_order(job.model.model, np.array(robot.drive.gains))
    gains = table('gains of the drives', ('joint', 'as told', 'by the load', '95 % interval'),
                  left=['joint'])
    out = []
    for name, gain, k, half, tells in zip(job.model.model.joint_names, told, found.scale,
                                          found.half, found.told, strict=True):
        row: dict[str, Any] = {'joint': name, 'told': float(gain), 'gain': None}
        if tells:
            row |= {'gain': float(gain / k), 'interval': [float(gain / (k + half)),
                                                          float(gain / (k - half))]}
        out.append(row)
        gains.add_row(name, f'{gain:.4g}', *((f'{row["gain"]:.4g}', '{:.4g} to {:.4g}'.format(
            *row['interval'])) if tells else ('-', 'the load does not tell it')))
    console.print(gains)
    return out


def _fleet(options: argparse.Namespace, setup: Setup, console: Console) -> dict[str, Any]:
    """One model per arm and day."""
    with step_bar(transient=True) as bar:
        task = bar.add_task('identifying', total=None)
        report = run_fleet(setup, expand(options.data), options.fleet, options.jobs,
                           options.dask,
                           lambda done, total: bar.update(task, completed=done, total=total))
    show_fleet(report, console)
    return report


def show(job: Identification, console: Console) -> None:
    model, result = job.model, job.result
    joints = table(f'{model.model.name}: torque error up to {model.cutoff:.1f} Hz',
                   ('joint', 'train %', 'validation %', 'mass [kg]', 'over URDF'), left=['joint'])
    unseen = result.get('validation_joint_percent') or [None] * model.model.n
    for name, train, other, mass, factor in zip(
            model.model.joint_names, model.train.joint_percent, unseen, model.masses,
            model.mass_factors, strict=True):
        joints.add_row(name, f'{train:.2f}', '-' if other is None else f'{other:.2f}',
                       f'{mass:.3f}', f'{factor:.2f}')
    total = result['validation_percent']
    joints.add_row('all', f'{model.train.percent:.2f}', '-' if total is None else f'{total:.2f}',
                   f'{model.masses.sum():.3f}', '')
    console.print(joints)
    console.print(f'gravity {np.round(model.gravity, 3).tolist()} m/s^2; drive terms '
                  f'{", ".join(model.drive.terms)}; physically consistent: {model.feasible}')
    for note in result['notes']:
        console.print(f'note: {note}')
    console.print(f'{result["verdict"]}.')


if __name__ == '__main__':
    sys.exit(main())
