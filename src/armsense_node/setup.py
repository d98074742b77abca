from setuptools import find_packages, setup

NAME = 'armsense_node'

setup(
    name=NAME,
    version='0.1.0',
    description='What every node of armsense stands on: loop, lifecycle, parameters, health, quality of service, client of a running arm.',
    license='Apache-2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + NAME]),
        ('share/' + NAME, ['package.xml']),
    ],
    package_data={NAME: ['py.typed']},
    zip_safe=False,
    extras_require={'test': ['pytest']},   # by this colcon knows how to test
    entry_points={'console_scripts': ['arm = armsense_node.entry:main']},
)
