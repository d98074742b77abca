"""docs/traceability.md: every equation has a row, and what the rows name exists."""

import pytest

from bench.papers.catalogue import NAMES
from bench.traceability import CODE, count_rows, missing_names, numbered, REASON, rows, TESTS


def test_every_numbered_equation_has_a_row_or_a_reason():
    listed = [(row.document, number) for row in rows() for number in row.equations]
    assert sorted(set(listed)) == sorted(listed), 'an equation stands in two rows'
    assert numbered() - set(listed) == set()
    assert set(listed) - numbered() == set()
    count = count_rows()
    assert count['with_row'] - count['with_reason_only'] >= 0.95 * count['equations']


@pytest.mark.parametrize('row', rows(), ids=lambda row: f'{row.document} {row.equations[0]}')
def test_code_and_test_of_a_row_exist(row):
    if not row.code.startswith(REASON):
        assert '.py`' in row.code
        assert ' `test_' in f' {row.test}'
        assert missing_names(row.code, CODE) == []
    assert missing_names(row.test, TESTS) == []
    assert set(row.shown) <= set(NAMES)


def test_a_name_that_is_not_there_is_found():
    assert missing_names('`model/arm.py` `Arm`, `no_such_name`', CODE) == ['no_such_name']
    assert missing_names('`model/no_file.py`', CODE) == ['model/no_file.py']
