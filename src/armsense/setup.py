from setuptools import find_packages, setup

NAME = 'armsense'

setup(
    name=NAME,
    version='0.1.0',
    description='The armsense library: models, boards, control, collision detection, identification, simulation. No ROS.',
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
        'armsense_description = armsense.cli.description_command:main']},
)
