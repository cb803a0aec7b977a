/* Friction of contact patches. */
#ifndef HRP_SIM_ODE_FRICTION_H
#define HRP_SIM_ODE_FRICTION_H

#include "solver.h"

/* Set the slip of a patch at a contact point, in W; zero without friction. */
void hrp_friction_slip(const Friction *friction, const Touch *touch, dReal slip[3]);

/* Set the rows and the areas of all patches, after all contacts were created. Returns 0 when memory
 * is short. */
int hrp_frictions_fill(const World *world, System *system);

/* Return by how much the loads of the contact points of a patch differ from their impulses. */
dReal hrp_friction_lag(const System *system, const Friction *friction);

/* Let the normal impulses of a patch be its load in the next step, if they differ by so little now.
 * Returns whether they do. */
int hrp_friction_follows(const System *system, const Friction *friction, dReal allowed);

/* Follow the normal impulses of a patch with its load. Where friction changes them so much that
 * they would alternate, as in a wedge, follow by the part that the last change suggests
 * (Aitken). */
void hrp_friction_relax(System *system, Friction *friction);

/* Set Newton's model at the current rates, for the current bounds. After a step that was shortened,
 * a part of the slopes of patches whose slip it turned round is that of secants: these are steeper
 * where points slip, so that it will not turn again. */
void hrp_friction_linearize(System *system, Friction *friction);

/* Likewise, but with the slope of the last model. */
void hrp_friction_shift(System *system, Friction *friction);

/* Set a model in which all points hold, whatever their bounds are. */
void hrp_friction_hold(Friction *friction);

/* Set the impulse of the model at the current rates. */
void hrp_friction_update(Friction *friction);

/* Return by how much the impulse of the model differs from that of the bounds, at most. */
dReal hrp_friction_error(System *system, Friction *friction);

/* Prepare a search along a step. */
void hrp_friction_search_begin(System *system, Friction *friction);

/* Add to the derivative, and to its own, of the minimized function at a fraction x of a step. */
void hrp_friction_search(const System *system, const Friction *friction, dReal x,
                         dReal *derivative, dReal *curvature);

/* Return at which fraction of a step the middle of a patch slips least. */
dReal hrp_friction_least_slip(const Friction *friction);

/* Return the part of a contact point in the friction of its patch, in W: with those of the others,
 * it has the force and the moment of the points'. */
void hrp_friction_part(const System *system, const Touch *touch, dReal impulse[3]);

#endif
