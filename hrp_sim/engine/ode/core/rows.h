/* The rows of the exact solver: joints, drives, stops, extra joints and contacts. */
#ifndef HRP_SIM_ODE_ROWS_H
#define HRP_SIM_ODE_ROWS_H

#include "solver.h"

#include <math.h>

/* Of a stop or gear that starts far from where it holds its joint, in [rad/s] or [m/s]. */
#define MAX_CLOSING_SPEED 1.0

/* Return the share of its speed at which such a row may close. Its softness is to have the same
 * share: where speed and yielding are in balance, under any load, they remain so. */
static inline dReal closing_share(dReal speed)
{
    return fabs(speed) > MAX_CLOSING_SPEED ? MAX_CLOSING_SPEED / fabs(speed) : 1.0;
}

/* Number the groups of all bodies, from 1 on. */
void hrp_groups_number(World *world);

/* List the nodes and couplings of all bodies but gears, with room for these, if they have changed.
 * Returns 0 when memory is short. */
int hrp_system_list(World *world, System *system);
dReal hrp_velocity_along(const System *system, int node, const dReal J[6]);

/* Set a row that acts along a direction at a point, given relative to both centres of mass. */
void hrp_point_row(dReal *J_first, dReal *J_second, const dReal along[3], const dReal arm[3],
                   const dReal arm_second[3]);

/* Set a row of relative rotation about a direction. */
void hrp_turn_row(dReal *J_first, dReal *J_second, const dReal about[3]);

/* Return the mobility of both nodes of a row, as if nothing else held them. */
dReal hrp_mobility_of(const System *system, int first, int second, int turns);

/* Set the rows of all joints, drives, stops and extra joints. */
void hrp_couplings_fill(World *world, System *system);

/* Append an empty contact. Returns NULL when memory is short. */
Touch *hrp_touch_append(System *system);

/* Set the row of a contact; the normal of the ODE contact points into a. */
void hrp_touch_fill(World *world, Touch *touch, const dContact *contact, dBodyID a, dBodyID b);

/* Add the force of a row, of an impulse in a step, to the wrench on the first node. */
void hrp_force_add(dJointFeedback *feedback, const dReal J[6], dReal force);

#endif
