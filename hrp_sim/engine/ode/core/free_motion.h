/* Free motion of rigid bodies, half a step before and half a step after the forces of the step. */
#ifndef HRP_SIM_ODE_FREE_MOTION_H
#define HRP_SIM_ODE_FREE_MOTION_H

#include "world.h"

/* Find the principal axes of a group, which is one of SPIN_LANES. */
void hrp_spin_init(Spin *spin, int lane, const dMass *mass);

/* Move a body from the start of a step to its middle, where forces and constraints act. */
void hrp_drift_to_middle(World *world, Body *body);

/* Move a body from the middle of a step, with the velocities that result from the step, to its
 * end; is_last: of a call, see hrp_joints_end. */
void hrp_drift_to_end(World *world, Body *body, int is_last);

#endif
