from setuptools import find_packages, setup

NAME = 'armsense_identification'

setup(
    name=NAME,
    version='0.1.0',
    description='From a recorded motion to a physically consistent model: actions, bag reading, reports.',
    license='Apache-2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + NAME]),
        ('share/' + NAME, ['package.xml']),
    ],
    package_data={NAME: ['py.typed', 'report/*.j2']},
    zip_safe=False,
    extras_require={'test': ['pytest']},   # by this colcon knows how to test
    entry_points={'console_scripts': [
        'identification_server = armsense_node.entry:main',
    ]},
)
