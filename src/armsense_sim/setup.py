from setuptools import find_packages, setup

NAME = 'armsense_sim'

setup(
    name=NAME,
    version='0.1.0',
    description='A MuJoCo arm behind emulated motor boards and load cells.',
    license='Apache-2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + NAME]),
        ('share/' + NAME, ['package.xml']),
    ],
    package_data={NAME: ['py.typed']},
    zip_safe=False,
    extras_require={'test': ['pytest']},   # by this colcon knows how to test
    entry_points={'console_scripts': [
        'dart_simulator = armsense_node.entry:main',
        'simulator = armsense_node.entry:main',
    ]},
)
