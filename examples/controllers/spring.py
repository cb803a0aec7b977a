"""A joint with a spring and a damper that the engine does not know, by a force hook.

hrp-sim run examples/controllers/spring.yaml
"""

from hrp_sim import ForceHook


class SpringJoint(ForceHook):
    """A spring that gets stiffer as it is compressed, with a damper.

    Arguments: ``joint``; ``stiffness`` in [N/m], ``hardening`` in [N/m^3], ``damping`` in [N s/m].
    """

    def initialize(self, io):
        self.joint = io.joint(io.args["joint"])
        keys = ("stiffness", "hardening", "damping")
        self.stiffness, self.hardening, self.damping = (io.args[key] for key in keys)

    def apply(self, state, dt):
        q, dq = state.q[self.joint], state.dq[self.joint]
        force = self.stiffness * q + self.hardening * q**3 + self.damping * dq
        state.joint_effort[self.joint] = -force

    def save(self):
        return {}  # there is nothing to save
