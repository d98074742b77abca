from setuptools import find_packages, setup

NAME = 'armsense_driver'

setup(
    name=NAME,
    version='0.1.0',
    description='Nodes of motor boards and load cells.',
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
        'motor_board = armsense_node.entry:main',
        'load_cells = armsense_node.entry:main',
        'force_torque_cells = armsense_node.entry:main',
        'ros2_control_bridge = armsense_node.entry:main',
    ]},
)
