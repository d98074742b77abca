"""Identify, redesign, repeat: the loop ends when two models agree."""

import json

from armsense.jobs import identify_job
from armsense_bringup.excite import iterate
from bench.synthetic import SyntheticArm


def test_loop_converges_and_keeps_every_round(tmp_path, monkeypatch, capsys):
    arm = SyntheticArm.make('laas4')
    driven = []

    def drive(file, periods, bag, name, model):
        driven.append(model)
        bag.mkdir()

    def recorded(path, setup):
        return arm.record(len(driven)), ()

    monkeypatch.setattr(iterate, 'drive', drive)
    monkeypatch.setattr(identify_job, 'recorded_motion', recorded)
    code = iterate.main(['--arm', 'laas4', '--out', str(tmp_path), '--rounds', '3',
                                '--tolerance', '2', '--period', '5', '--starts', '1', '--json'])
    assert code == 0
    rounds = json.loads(capsys.readouterr().out)['rounds']
    assert [r['converged'] for r in rounds] == [False, True]
    assert rounds[0]['change_percent'] > rounds[1]['change_percent']
    assert driven == [None, tmp_path / 'round1' / 'model.yaml']   # the found model drives the next
    for number in (1, 2):
        names = {p.name for p in (tmp_path / f'round{number}').iterdir()}
        assert names == {'excite.yaml', 'bag', 'model.yaml', 'report.html', 'report.json'}


def test_rounds_that_exist_are_not_overwritten(tmp_path, capsys):
    (tmp_path / 'round1').mkdir()
    assert iterate.main(['--out', str(tmp_path)]) == 1
    assert 'exists already' in capsys.readouterr().err
