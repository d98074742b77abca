from setuptools import find_packages, setup

NAME = 'armsense_monitor'

setup(
    name=NAME,
    version='0.1.0',
    description='Web monitor, RViz markers, tf and robot_description where robot_state_publisher is missing.',
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
        'recorder = armsense_node.entry:main',
        'web_monitor = armsense_node.entry:main',
        'markers = armsense_node.entry:main',
        'state_publisher = armsense_node.entry:main',
        'bag_player = armsense_node.entry:main',
    ]},
)
