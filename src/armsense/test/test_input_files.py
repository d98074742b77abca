"""How far a name in somebody else's goal may reach."""

import pytest

from armsense.errors import ArmsenseError
from armsense.jobs.files import confined


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / 'robot'
    (folder / 'out').mkdir(parents=True)
    (folder / 'away').symlink_to(tmp_path)
    return folder


@pytest.mark.parametrize('name', ['model.yaml', 'out/model.yaml', 'new/bag', './x', '{}/out/x'])
def test_names_within_the_folder(folder, name):
    name = name.format(folder)
    assert confined(name, folder) == (folder / name).resolve()


@pytest.mark.parametrize('name', ['/etc/passwd', '../x', 'out/../../x', 'out/../x', 'away/x',
                                  '{}/../x', '{}er/x'])
def test_names_that_leave_it_are_refused(folder, name):
    name = name.format(folder)
    with pytest.raises(ArmsenseError, match=f'{name} does not lie within {folder}, where'):
        confined(name, folder)
