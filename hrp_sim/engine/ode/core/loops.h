/* Extra joints: within a body they close kinematic loops, others connect links of two bodies. */
#ifndef HRP_SIM_ODE_LOOPS_H
#define HRP_SIM_ODE_LOOPS_H

#include "world.h"

/* A joint to create between links of two bodies. */
typedef struct {
    int kind; /* LOOP_... */
    Body *bodies[2];
    int links[2];
    Frame frames[2]; /* in the links */
    dReal axis[3];
} Connection;

/* Create the extra joints of a body, in the initial posture. */
void hrp_loops_create(World *world, Body *body, const Flat *flat);

/* Add the rows of XY and Z joints, in the order of bodies for repeatability. */
void hrp_loops_hold(World *world);

/* Whether a joint connects the groups of two links of different bodies: like adjacent links of one
 * body, they do not collide then. */
int hrp_body_joints_connect(const World *world, const Body *const bodies[2],
                            LinkShapes *const links[2]);

/* Remove the joints between a body and others. */
void hrp_body_joints_remove(World *world, const Body *body);

/* Create a joint between two bodies; an OdeWork. There is room for it. */
void hrp_body_joint_create(World *world, void *arguments);

/* Make room for one more joint between bodies. Returns 0 when memory is short. */
int hrp_body_joints_reserve(World *world);

/* Remove a joint between bodies by its index; an OdeWork. */
void hrp_body_joint_remove(World *world, void *index);

#endif
