"""Plain data to dataclasses: every error names the place, the value and what is valid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from armsense import schema
from armsense.errors import ArmsenseError
from armsense.excite.search import DesignOptions
from armsense.observer.observer import ObserverOptions
from armsense.reaction.options import ReactionOptions
from armsense.schema import quantity


@dataclass(frozen=True, kw_only=True)
class Inner:
    size: float = quantity(unit='m', above=0)
    count: int = quantity(3, low=1, high=5)


@dataclass(frozen=True, kw_only=True)
class Outer:
    name: str
    kind: str = quantity('red', choices=('red', 'green'))
    share: float = quantity(0.5, low=0, high=1)
    on: bool = True
    inner: Inner | None = None
    parts: dict[str, Inner] = quantity({})
    pair: tuple[float, float] = (0.0, 0.0)
    rows: tuple[tuple[float, float], ...] = ()
    words: tuple[str, ...] = ()
    angles: tuple[float, ...] = quantity((), low=-1, high=1)


@dataclass(frozen=True)
class Range:
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ArmsenseError('low is above high')


@dataclass(frozen=True)
class Holder:
    ranges: dict[str, Range]


FULL = {'name': 'n', 'kind': 'green', 'share': 1, 'on': False, 'inner': {'size': 2.5, 'count': 4},
        'parts': {'a': {'size': 1}}, 'pair': [1, 2], 'rows': [[1, 2], [3, 4]], 'words': ['x', 'y'],
        'angles': [0.5, -0.5]}


def test_full_data():
    outer = schema.load(Outer, FULL, 'file.yaml')
    assert outer == Outer(name='n', kind='green', share=1.0, on=False,
                          inner=Inner(size=2.5, count=4),
                          parts={'a': Inner(size=1.0)}, pair=(1.0, 2.0),
                          rows=((1.0, 2.0), (3.0, 4.0)), words=('x', 'y'), angles=(0.5, -0.5))
    assert isinstance(outer.share, float)


def test_defaults():
    outer = schema.load(Outer, {'name': 'n'}, 'file.yaml')
    assert (outer.kind, outer.share, outer.on) == ('red', 0.5, True)
    assert outer.inner is None
    assert outer.parts == {}


def test_default_mapping_is_not_shared():
    assert Outer(name='a').parts is not Outer(name='b').parts


def test_number_written_as_1e_6():
    assert schema.load(Outer, {'name': 'n', 'share': '1e-6'}, 'f').share == 1e-6


@pytest.mark.parametrize(('change', 'text'), [
    ({'shar': 1}, "file.yaml: unknown key 'shar' (did you mean 'share'?); known: name, kind,"),
    ({'name': ...}, "file.yaml: 'name' is missing; needed: name"),
    ({'name': 3}, 'file.yaml: name is 3; it must be text'),
    ({'share': 'half'}, "file.yaml: share is 'half'; it must be a number"),
    ({'share': True}, 'file.yaml: share is True; it must be a number'),
    ({'share': None}, 'file.yaml: share is None; it must be a number'),
    ({'share': float('nan')}, 'file.yaml: share is nan; it must be finite'),
    ({'share': '.inf'}, "file.yaml: share is '.inf'; it must be a number"),
    ({'share': 'inf'}, 'file.yaml: share is inf; it must be finite'),
    ({'share': 1.5}, 'file.yaml: share is 1.5; it must be <= 1'),
    ({'share': -0.1}, 'file.yaml: share is -0.1; it must be >= 0'),
    ({'share': 10**400}, 'file.yaml: share is inf; it must be finite'),
    ({'on': 'yes'}, "file.yaml: on is 'yes'; it must be true or false"),
    ({'on': 1}, 'file.yaml: on is 1; it must be true or false'),
    ({'kind': 'gren'},
     "file.yaml: kind: unknown value 'gren' (did you mean 'green'?); known: red, green"),
    ({'kind': ['red']}, "file.yaml: kind is ['red']; it must be text"),
    ({'inner': 3}, 'file.yaml: inner is 3; it must be a mapping'),
    ({'inner': {}}, "file.yaml: inner: 'size' is missing; needed: size"),
    ({'inner': {'size': 0}}, 'file.yaml: inner.size is 0.0; it must be > 0 m'),
    ({'inner': {'size': 1, 'count': 9}}, 'file.yaml: inner.count is 9; it must be <= 5'),
    ({'inner': {'size': 1, 'count': 2.0}}, 'inner.count is 2.0; it must be a whole number'),
    ({'inner': {'size': 1, 'count': True}}, 'inner.count is True; it must be a whole number'),
    ({'parts': []}, 'file.yaml: parts is []; it must be a mapping'),
    ({'parts': {'a': {'size': -1}}}, 'file.yaml: parts.a.size is -1.0; it must be > 0 m'),
    ({'parts': {'a': {'bulk': 1}}}, "file.yaml: parts.a: unknown key 'bulk'; known: size, count"),
    ({'pair': [1]}, 'file.yaml: pair is [1]; it must be a list of 2'),
    ({'pair': 1}, 'file.yaml: pair is 1; it must be a list'),
    ({'pair': 'ab'}, "file.yaml: pair is 'ab'; it must be a list"),
    ({'pair': [1, 'x']}, "file.yaml: pair[1] is 'x'; it must be a number"),
    ({'rows': [[1, 2], [3]]}, 'file.yaml: rows[1] is [3]; it must be a list of 2'),
    ({'words': ['a', 2]}, 'file.yaml: words[1] is 2; it must be text'),
    ({'angles': [0.0, 2.0]}, 'file.yaml: angles is 2.0; it must be <= 1'),
])
def test_bad_data(change, text):
    data = {key: value for key, value in {**FULL, **change}.items() if value is not ...}
    with pytest.raises(ArmsenseError) as error:
        schema.load(Outer, data, 'file.yaml')
    assert text in str(error.value)
    assert '\n' not in str(error.value)


@pytest.mark.parametrize('data', [3, None, [], 'text'])
def test_data_that_is_no_mapping(data):
    with pytest.raises(ArmsenseError, match='file.yaml is .*; it must be a mapping'):
        schema.load(Outer, data, 'file.yaml')


def test_own_check_of_a_dataclass_is_told_with_its_place():
    with pytest.raises(ArmsenseError, match='^f.yaml: ranges.a: low is above high$'):
        schema.load(Holder, {'ranges': {'a': {'low': 2, 'high': 1}}}, 'f.yaml')


@pytest.mark.parametrize(('make', 'text'), [
    (lambda: ObserverOptions(torque='hold'),
     "ObserverOptions.torque: unknown value 'hold' (did you mean 'held'?); known: held, sampled"),
    (lambda: ReactionOptions(attempts=-1), 'ReactionOptions.attempts is -1; it must be >= 0'),
    (lambda: ReactionOptions(overreaction=(2.0, 0.5)), 'overreaction is 0.5; it must be >= 1 1'),
    (lambda: replace(DesignOptions(), criterion='best'), 'Options.criterion: unknown value')])
def test_options_made_in_python_keep_to_the_same_values(make, text):
    with pytest.raises(ArmsenseError) as error:
        make()
    assert text in str(error.value)


def test_dump_and_load_round_trip():
    outer = schema.load(Outer, FULL, 'f')
    assert schema.load(Outer, schema.dump(outer), 'f') == outer
    assert schema.dump(Outer(name='n')) == {'name': 'n', 'kind': 'red', 'share': 0.5, 'on': True,
                                            'pair': [0.0, 0.0]}


def test_dump_of_numpy():
    assert schema.dump({'a': np.array([1.0, 2.0]), 'b': np.float64(3.0), 'c': (np.int64(4),)}) == {
        'a': [1.0, 2.0], 'b': 3.0, 'c': [4]}


@pytest.mark.parametrize(('content', 'text'), [
    (b'a: [1', 'is not valid yaml'),
    (b'- 1\n- 2\n', "is 'list'; it must be a mapping"),
    (b'', "is 'NoneType'; it must be a mapping"),
    (b'\xff\xfe\x00', 'is not valid yaml'),
    (b'a: !!python/object/apply:os.getcwd []', 'is not valid yaml'),
    (b'a: \x00', 'is not valid yaml'),
])
def test_bad_yaml_file(tmp_path, content, text):
    path = tmp_path / 'file.yaml'
    path.write_bytes(content)
    with pytest.raises(ArmsenseError) as error:
        schema.read_yaml(path)
    assert text in str(error.value)
    assert str(path) in str(error.value)
    assert '\n' not in str(error.value)


def test_yaml_where_nobody_can_write(tmp_path):
    with pytest.raises(ArmsenseError, match='cannot write /proc/arm.yaml: '):
        schema.write_yaml(Inner(size=1.0), Path('/proc/arm.yaml'))
    (tmp_path / 'arm.yaml').mkdir()
    with pytest.raises(ArmsenseError, match='cannot write .*arm.yaml: Is a directory'):
        schema.write_yaml(Inner(size=1.0), tmp_path / 'arm.yaml')
    assert [p.name for p in tmp_path.iterdir()] == ['arm.yaml']


def test_missing_yaml_file(tmp_path):
    with pytest.raises(ArmsenseError, match=r'cannot read .*none.yaml: No such file'):
        schema.read_yaml(tmp_path / 'none.yaml')
    with pytest.raises(ArmsenseError, match='cannot read .*: Is a directory'):
        schema.read_yaml(tmp_path)


@dataclass(frozen=True, kw_only=True)
class Borrower:
    share: float = schema.same_as(Outer, 'share')
    other: str = ''


def test_a_field_is_stated_once():
    assert schema.load(Borrower, {}, 'f').share == Outer.share
    with pytest.raises(ArmsenseError, match=r'f\.share is 2\.0; it must be <= 1'):
        schema.load(Borrower, {'share': 2.0}, 'f')
    assert schema.part(Borrower, Borrower(share=0.3), other='x') == Borrower(share=0.3, other='x')


@pytest.mark.parametrize(('rule', 'text'), [
    ({'low': 0, 'high': 1.5}, '0 to 1.5'), ({'above': 0}, '> 0'), ({'low': 2}, '>= 2'),
    ({'above': 0, 'high': 3}, '> 0, <= 3'), ({'choices': ('a', 'b')}, 'a, b'), ({}, '')])
def test_valid_values_in_words(rule, text):
    assert schema.valid_values(schema.quantity(1.0, **rule).metadata) == text


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(['red', 'size', '1e-3', 'nan']),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from([*FULL, 'size', 'count', 'x', 1, None]), inner, max_size=4),
    max_leaves=8)


@settings(deadline=None, max_examples=60)
@given(change=st.dictionaries(st.sampled_from([*FULL, 'x', 1]), PLAIN, max_size=4))
def test_only_our_errors_escape(change):
    try:
        outer = schema.load(Outer, {**FULL, **change}, 'file.yaml')
    except ArmsenseError:
        return
    assert 0 <= outer.share <= 1
    assert schema.load(Outer, schema.dump(outer), 'f') == outer
