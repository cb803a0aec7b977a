/* Joints between the groups of a body, and their motors in ODE. */
#ifndef HRP_SIM_ODE_JOINTS_H
#define HRP_SIM_ODE_JOINTS_H

#include "world.h"

/* Transform a point or a direction from W to a group's frame; group NULL is the world. */
void hrp_to_group_frame(dReal out[3], dBodyID group, const double *in, int is_point);

/* Describe how a joint holds two groups in their present poses, with an anchor and an axis in W. */
void hrp_attachment_init(Attachment *attachment, int kind, dBodyID first, dBodyID second,
                         const dReal anchor[3], const dReal axis[3]);

/* Create the joints; the groups must be in the zero posture. */
void hrp_joints_create(World *world, Body *body, const Flat *flat);

#endif
