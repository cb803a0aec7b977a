/* Contact patches: which contact points belong to one, its area, and points that stand for it. */
#ifndef HRP_SIM_ODE_PATCH_H
#define HRP_SIM_ODE_PATCH_H

#include "solver.h"

/* Add a contact point to the patch that it belongs to. The cluster is that of the points of two
 * links; cap is the radius of a cylinder that stands on its cap there, or 0. */
void hrp_friction_join(System *system, Touch *touch, const dContact *contact, int cluster,
                       dReal cap);

/* Set the motion of a rigid body, along the rows of a patch, that has the velocities in W that are
 * stored so far into its contact points. */
void hrp_patch_motion(const System *system, const Friction *friction, size_t velocity,
                      dReal motion[3]);

/* Set the middle of a patch, its rows, and where its contact points are in its plane. */
void hrp_patch_plane_set(const System *system, Friction *friction);

/* Set what area a patch has: a point, a line, a disc, or the polygon of its contact points. */
void hrp_patch_area_set(const System *system, Friction *friction);

/* Add the points of a patch. There is room for those of each. */
void hrp_patch_points_set(System *system, Friction *friction);

#endif
