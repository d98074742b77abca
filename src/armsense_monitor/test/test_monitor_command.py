"""The command line of the web monitor becomes that of its node."""

import rclpy

from armsense_monitor.monitor_command import parser, ros_arguments


def test_text_arrives_as_it_was_typed():
    words = ['--bag', "/tmp/it's/a bag", '--token', '007', '--at', '2.5', '--jogging']
    context = rclpy.Context()
    rclpy.init(args=ros_arguments(parser().parse_args(words)), context=context)
    node = rclpy.create_node('monitor', context=context,
                             automatically_declare_parameters_from_overrides=True)
    try:
        values = {name: node.get_parameter(name).value
                  for name in ('bag', 'token', 'at', 'jogging', 'port')}
    finally:
        node.destroy_node()
        context.try_shutdown()
    assert values == {'bag': "/tmp/it's/a bag", 'token': '007', 'at': 2.5, 'jogging': True,
                      'port': 8080}
