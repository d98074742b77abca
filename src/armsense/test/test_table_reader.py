"""Tables as people keep them: headings, ranges, units, broken lines, four kinds of file."""

import gzip

import numpy as np
from pyarrow import parquet, Table
import pytest
import scipy.io

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.identify.robot_file import columns_of, SourceConfig
from armsense.recordings.signals import in_si
from armsense.recordings.table_reader import read_table

JOINTS = ('shoulder', 'elbow')
N = 120
T = 0.01 * np.arange(N)
Q = np.stack([np.sin(T), np.cos(T)], axis=1)
TAU = np.stack([2.0 + T, 3.0 - T], axis=1)


def table(path, heading, rows=None, **columns):
    """Write a text table; by default time, two positions, two torques."""
    rows = np.column_stack([T, Q, TAU]) if rows is None else rows
    np.savetxt(path, rows, delimiter=',', header=heading, comments='', fmt='%.12g')
    return path


def read(path, **source):
    signals, units = read_table(path, SourceConfig(**source), JOINTS)
    return in_si(signals, units)


def check(signals, rows=slice(None)):
    np.testing.assert_allclose(signals.t, T[rows], atol=1e-9)
    np.testing.assert_allclose(signals.position, Q[rows], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(signals.effort, TAU[rows], rtol=1e-9)


@pytest.mark.parametrize('heading', [
    't,q1,q2,tau1,tau2', 'time,q_0,q_1,tau_0,tau_1', 'Time (s),q[0],q[1],torque[0],torque[1]',
    'timestamp,actual_q_0,actual_q_1,actual_current_0,actual_current_1',
    'time,/joint_states/shoulder/position,/joint_states/elbow/position,'
    '/joint_states/shoulder/effort,/joint_states/elbow/effort',
    'stamp,position.shoulder,position.elbow,effort.shoulder,effort.elbow'])
def test_usual_headings_need_no_robot_file(tmp_path, heading):
    signals = read(table(tmp_path / 'x.csv', heading))
    check(signals)
    assert any('position is taken from' in note for note in signals.notes)


def test_joints_of_headings_may_stand_in_another_order(tmp_path):
    path = table(tmp_path / 'x.csv', 'time,q_elbow,q_shoulder,tau_elbow,tau_shoulder',
                 np.column_stack([T, Q[:, ::-1], TAU[:, ::-1]]))
    check(read(path))


@pytest.mark.parametrize(('text', 'names'), [
    ('1-3', ['1', '2', '3']), ('q0-q2', ['q0', 'q1', 'q2']), ('q0-2', ['q0', 'q1', 'q2']),
    ('tau_1_Nm-tau_2_Nm', ['tau_1_Nm', 'tau_2_Nm']), ('j09-j11', ['j09', 'j10', 'j11']),
    ('left-right', ['left-right']), ('q', ['q'])])
def test_ranges(text, names):
    assert columns_of(text) == names


def test_a_falling_range_is_refused():
    with pytest.raises(BadValue, match='q6-q0'):
        columns_of('q6-q0')


@pytest.mark.parametrize(('heading', 'source'), [
    ('time_ms,q1 [deg],q2 [deg],i1 (mA),i2 (mA)', {}),
    ('a,b,c,d,e', {'units': {'time': 'ms', 'position': 'deg', 'effort': 'mA'}})])
def test_units(tmp_path, heading, source):
    path = table(tmp_path / 'x.csv', heading,
                 np.column_stack([1e3 * T, np.degrees(Q), 1e3 * TAU]))
    names = heading.split(',')
    check(read(path, columns={'time': names[:1], 'position': names[1:3], 'effort': names[3:]},
               **source))


def test_time_in_another_unit_is_refused(tmp_path):
    path = table(tmp_path / 'x.csv', 't,q1,q2,tau1,tau2', np.column_stack([1e3 * T, Q, TAU]))
    with pytest.raises(ArmsenseError, match='every 10 s; is its time in ms'):
        read(path)


def test_malformed_rows_are_named_and_left_out(tmp_path):
    path = table(tmp_path / 'x.csv', 't,q1,q2,tau1,tau2')
    lines = path.read_text().splitlines()
    lines[7] = lines[7].replace(lines[7].split(',')[2], 'n/a')
    lines[50] = lines[50] + ',1.0'
    lines[-1] = lines[-1][:9]
    path.write_text('\n'.join(lines))
    signals = read(path)
    keep = np.ones(N, bool)
    keep[[6, 49, N - 1]] = False
    check(signals, keep)
    assert f"3 of {N} rows are malformed, the first in line 8: 'n/a' is no number" in (
        signals.notes[0])


def test_values_that_were_not_measured(tmp_path):
    path = table(tmp_path / 'x.csv', 't,q1,q2,tau1,tau2')
    lines = path.read_text().splitlines()
    words = lines[11].split(',')
    lines[11] = ','.join([*words[:3], '', words[4]])
    lines[12] = ','.join(['nan', *words[1:]])
    path.write_text('\n'.join(lines))
    signals = read(path)
    check(signals, np.r_[0:10, 12:N])
    assert any(f'2 of {N} rows lack a number, the first in line 12' in note
               for note in signals.notes)


def test_a_column_that_nobody_asks_for_may_be_empty(tmp_path):
    rows = np.column_stack([T, Q, TAU, np.full(N, np.nan)])
    check(read(table(tmp_path / 'x.csv', 't,q1,q2,tau1,tau2,unused', rows)))


def test_a_text_that_is_no_table(tmp_path):
    path = tmp_path / 'x.csv'
    path.write_text('t,q1,q2,tau1,tau2\n' + '\n'.join(['1,2,3,4,5', 'a,b,c,d,e'] * 30))
    with pytest.raises(ArmsenseError, match='no table of numbers'):
        read(path)


@pytest.mark.parametrize('mark', [';', '\t', ' ', ','])
def test_delimiters_comments_and_first_bytes(tmp_path, mark):
    path = tmp_path / 'x.txt'
    rows = ['# ' + mark.join(['t', 'q1', 'q2', 'tau1', 'tau2']), '', '# made by hand']
    rows += [mark.join(f'{x:.12g}' for x in row) for row in np.column_stack([T, Q, TAU])]
    path.write_bytes(b'\xef\xbb\xbf' + '\r\n'.join(rows).encode())
    check(read(path))


def test_decimal_commas(tmp_path):
    path = tmp_path / 'x.csv'
    rows = [';'.join(f'{x:.12g}' for x in row).replace('.', ',')
            for row in np.column_stack([T, Q, TAU])]
    path.write_text('\n'.join(['t;q1;q2;tau1;tau2', *rows]))
    check(read(path))


def test_zipped_text_without_headings(tmp_path):
    path = tmp_path / 'x.csv.gz'
    rows = '\n'.join(','.join(f'{x:.12g}' for x in row) for row in np.column_stack([T, Q, TAU]))
    path.write_bytes(gzip.compress(rows.encode()))
    check(read(path, columns={'time': ['0'], 'position': ['1', '2'], 'effort': ['3', '4']}))
    with pytest.raises(BadValue, match="column is '9'; it must be 0 to 4"):
        read(path, columns={'time': ['0'], 'position': ['1', '9'], 'effort': ['3', '4']})


def test_npz(tmp_path):
    np.savez(tmp_path / 'x.npz', t=T, q=Q, tau=TAU, label='free')
    check(read(tmp_path / 'x.npz'))


def test_mat_structures_may_lie_on_their_side(tmp_path):
    scipy.io.savemat(tmp_path / 'x.mat', {'rec': {'t': T[None], 'q': Q.T, 'load': TAU.T}})
    check(read(tmp_path / 'x.mat', columns={
        'time': ['rec.t'], 'position': ['rec.q'], 'effort': ['rec.load']}))


def test_parquet(tmp_path):
    path = tmp_path / 'x.parquet'
    columns = dict(zip(('t', 'q1', 'q2', 'tau1', 'tau2'), np.column_stack([T, Q, TAU]).T,
                       strict=True))
    parquet.write_table(Table.from_pydict({**columns, 'label': ['free'] * N}), path)
    check(read(path))
    parquet.write_table(Table.from_pydict({'t': T, 'q': list(Q), 'tau': list(TAU)}), path)
    check(read(path))


@pytest.mark.parametrize('name', ['x.npz', 'x.mat', 'x.parquet', 'x.csv.gz'])
def test_files_that_are_something_else(tmp_path, name):
    (tmp_path / name).write_bytes(b'\x89PNG' + bytes(range(256)))
    with pytest.raises(ArmsenseError, match='x'):
        read(tmp_path / name)


def test_mistakes_name_what_is_there(tmp_path):
    path = table(tmp_path / 'x.csv', 't,q1,q2,tau1,tau2')
    with pytest.raises(UnknownName, match="unknown column 'u1'"):
        read(path, columns={'time': ['t'], 'position': ['q'], 'effort': ['u1', 'u2']})
    with pytest.raises(BadValue, match='number of columns of position is 1'):
        read(path, columns={'time': ['t'], 'position': ['q1'], 'effort': ['tau']})
    with pytest.raises(ArmsenseError, match='no effort'):
        read(path, columns={'time': ['t'], 'position': ['q']})
    strange = table(tmp_path / 'y.csv', 'a,b,c,d,e')
    with pytest.raises(ArmsenseError, match='needs source.columns in the robot file; it has a, b'):
        read(strange)
