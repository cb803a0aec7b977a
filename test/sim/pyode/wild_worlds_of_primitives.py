"""The program of absurd bodies, on PyODE, with what PyODE has."""

import sys
from dataclasses import replace

from sim.ode import scenes, wild_worlds

from hrp_model.body import ExtraJointType
from hrp_model.geometry import Cylinder
from hrp_sim.pyode import PyOdeEngine

KNOWN = {ExtraJointType.BALL, ExtraJointType.HINGE, ExtraJointType.FIXED}


class Engine(PyOdeEngine):
    """Leaves out the extra joints that PyODE does not have."""

    def add_body(self, placement):
        loops = tuple(x for x in placement.body.extra_joints if x.type in KNOWN)
        body = replace(placement.body, extra_joints=loops)
        return super().add_body(replace(placement, body=body))


if __name__ == "__main__":
    scenes.OdeEngine = Engine
    wild_worlds.Cone = Cylinder
    wild_worlds.main(int(sys.argv[1]))
