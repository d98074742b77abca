"""Nodes up, topics flow, a push stops the arm, clean exit."""

from arm_system import arm_system
from four_questions import (
    a_push_stops_the_arm,
    ARGUMENTS,
    nodes_are_up,
    topics_flow,
    write_scenario,
)
import pytest


@pytest.mark.parametrize('process', ['one', 'many'])
def test_the_arm_answers_all_four(tmp_path, process):
    system = arm_system(process=process, scenario=write_scenario(tmp_path), **ARGUMENTS)
    with system as (client, supervisor):
        nodes_are_up(client)
        topics_flow(client)
        a_push_stops_the_arm(client)
    assert supervisor.exit_code == 0, supervisor.last_words
