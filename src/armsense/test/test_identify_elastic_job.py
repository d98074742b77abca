"""An arm with springs through the same job and report as a rigid one."""

import json

import numpy as np
import pytest

from armsense.jobs import identify_job
from armsense.jobs.identify_job import run, Setup
from armsense.model.model_file import ModelFile
from armsense.report.page import write_all
from bench.synthetic_elastic import SyntheticElasticArm

pytestmark = pytest.mark.slow


def test_springs_are_found_and_stand_in_model_and_report(tmp_path, monkeypatch):
    truth = SyntheticElasticArm.make('biorob')
    recording = truth.record(1, noise=1, periods=1)
    monkeypatch.setattr(identify_job, 'read_elastic',
                        lambda path, config, topic, window: ([recording], ()))
    bag = tmp_path / 'bag.mcap'
    bag.write_bytes(b'')
    job = run(Setup.of_arm('biorob'), [bag])
    write_all(job, tmp_path / 'model.yaml')
    file = ModelFile.read(tmp_path / 'model.yaml', 'biorob')
    stiffness = [drive.stiffness for drive in file.drives.values()]
    np.testing.assert_allclose(stiffness, truth.springs.stiffness, rtol=0.05)
    assert file.provenance.sources[0].file == 'bag.mcap'
    rows = json.loads((tmp_path / 'report.json').read_text())['result']['springs']
    for row, value in zip(rows, stiffness, strict=True):
        assert row['stiffness_interval'][0] < value < row['stiffness_interval'][1]
    assert '<h2>Springs</h2>' in (tmp_path / 'report.html').read_text()
