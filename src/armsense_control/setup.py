from setuptools import find_packages, setup

NAME = 'armsense_control'

setup(
    name=NAME,
    version='0.1.0',
    description='Controller nodes: independent joints, computed torque, elastic joints, reactions.',
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
        'dynamic_controller = armsense_node.entry:main',
        'joint_command_controller = armsense_node.entry:main',
        'joint_space_controller = armsense_node.entry:main',
    ]},
)
