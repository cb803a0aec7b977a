"""A body with a holder, and boxes that it can hold."""

import numpy as np
from sim.physics.scenes import PRISMATIC, Z, at, box_inertia, child, placed, root

from hrp_model.body import Body
from hrp_model.devices import Holder
from hrp_model.geometry import Box
from hrp_model.rigid import Pose
from hrp_sim.engine.engine import Placement
from hrp_sim.world.config import BodyEntry

SIZE = np.array([0.2, 0.2, 0.2])


def lifter(body="lifter", /, **holder):
    """A fixed base, and a hand that slides along Z from 1 m, with a holder below it."""
    cup = {"name": "cup", "link": "HAND", "X_LS": at(z=-0.05), "on": False} | holder
    hand = child("HAND", "BASE", PRISMATIC, Z, id=0, mass=2.0, collision=(placed(Box(SIZE / 2.0)),))
    return Body(name=body, links=(root(), hand), devices=(Holder(**cup),))


def box(name="box", *attachments):
    link = root("BASE", free=True, inertia=box_inertia(1.0, SIZE), collision=(placed(Box(SIZE)),))
    return Body(name=name, links=(link,), devices=attachments)


def entry(body, X_WL=None, *, fixed=False, name=None):
    placement = Placement(name=name or body.name, body=body, X_WL=X_WL or Pose(), fixed=fixed)
    return BodyEntry(placement=placement)
