"""An arm with springs through its boards, its bag, the same job and report as a rigid one."""

import json

import numpy as np
import pytest

from armsense.excite import design_excitation, DesignOptions
from armsense.jobs.identify_job import run, Setup
from armsense.model import Arm
from armsense.model.model_file import ModelFile
from armsense.recordings.bag_reader import read_bag
from armsense.report.page import write_all
from armsense.sim.closed_loop import ClosedLoop
from bench.boards_bag import record_motion

pytestmark = pytest.mark.slow
TRUE = 17.5, 10.0, 6.0, 6.0     # [Nm/rad] thesis 000, table 4.2


def test_springs_are_found_and_stand_in_model_and_report(tmp_path):
    arm = Arm.load('biorob')
    options = DesignOptions(seed=1, starts=1, time_limit=0.0, period=6.0)
    motion = design_excitation(arm, options).excitation.trajectory(1)
    bag = record_motion(ClosedLoop(arm, seed=3), motion, tmp_path / 'bag')
    setup = Setup.of_arm('biorob')
    signals = read_bag(bag, setup.source, arm.joint_names)
    assert np.all(signals.effort.min(axis=0) < -0.1)     # of sensors that report magnitudes
    job = run(setup, [bag])
    write_all(job, tmp_path / 'model.yaml')
    file = ModelFile.read(tmp_path / 'model.yaml', 'biorob')
    stiffness = [drive.stiffness for drive in file.drives.values()]
    np.testing.assert_allclose(stiffness, TRUE, rtol=0.02)
    assert file.provenance.sources[0].file == 'bag'
    rows = json.loads((tmp_path / 'report.json').read_text())['result']['springs']
    for row, value in zip(rows, stiffness, strict=True):
        assert row['stiffness_interval'][0] < value < row['stiffness_interval'][1]
    assert '<h2>Springs</h2>' in (tmp_path / 'report.html').read_text()
