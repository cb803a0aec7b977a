"""A node that is put into a namespace takes the nodes of its bodies with it."""

import os
import sys
from contextlib import closing

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
from ros_peer import ENVIRONMENT

from hrp_sim.node import RosSession

WORLD = MODELS / "worlds" / "arm.yaml"


@pytest.mark.parametrize("rules", [["__ns:=/lab"], ["__ns:=/lab", "__node:=left"]])
def test_each_body_keeps_its_own_namespace_below(rules, monkeypatch):
    monkeypatch.setattr(os, "environ", {**os.environ, **ENVIRONMENT})
    words = [word for rule in rules for word in ("-r", rule)]
    monkeypatch.setattr(sys, "argv", ["sim_node", "--ros-args", *words])
    with closing(RosSession({"world": str(WORLD), "describe": True})) as session:
        name = rules[-1].rpartition("=")[2] if len(rules) > 1 else "sim_node"
        assert session.node.get_fully_qualified_name() == f"/lab/{name}"
        models = {model.get_fully_qualified_name() for model in session.node.face.models}
        assert models == {"/lab/model_node", "/lab/Floor/model_node"}
        topics = set(session.published())
        assert {"/lab/robot_description", "/lab/Floor/robot_description"} <= topics
        assert {"/clock", "/tf", "/tf_static", "/lab/joint_states"} <= topics
