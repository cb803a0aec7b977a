/* What acts on a body in a step: joint drives and external wrenches; joint coordinates. */
#ifndef HRP_SIM_ODE_DRIVE_H
#define HRP_SIM_ODE_DRIVE_H

#include "world.h"

/* The joints of a body in a step: before free motion; in the middle, that long after; there, with
 * the velocities that result from the step, which give the rates at its end; and at the end. */
void hrp_joints_begin(Body *body);
void hrp_joints_drift(Body *body, dReal elapsed);
void hrp_joints_accelerate(Body *body);

/* Compute efforts as well. Positions are read if the step is the last of a call, or if they turn too
 * fast to be expected, which is enough for the next step. */
void hrp_joints_end(const World *world, Body *body, dReal elapsed, int is_last);

/* Read q of all joints where hrp_joints_end may not have. */
void hrp_joints_read_positions(Body *body);

/* Read q and dq of a joint after its body was placed. */
void hrp_joint_read(const Body *body, Joint *joint);

/* Set the stops for the current turn: ODE compares them with an angle within +-pi. */
void hrp_joint_set_stops(Joint *joint);

/* Check the drive and wrench arrays of a body, and note which are not zero, as few are: wrenches and
 * surface velocities. Returns 0 and describes the fault if a value is invalid. */
int hrp_inputs_check(Body *body, Fault *fault);
void hrp_drives_apply(World *world, Body *body);

/* List the rows of a drive for the exact solver, after hrp_drives_apply. It bounds the effort
 * whenever that has a range, at no cost. Returns their number. */
int hrp_drive_rows(const Joint *joint, AxisRow rows[3]);

/* Clear which efforts left their ranges, at the start of a step. */
void hrp_drives_clear_exceeded(Body *body);

/* Return whether a further effort left its range in the last attempt. Efforts that left it in an
 * earlier attempt stay bounded in this step, which limits the number of attempts: bounding one
 * joint may bring another back into its range. */
int hrp_drives_find_exceeded(Body *body);

/* Mark every effort with a range that was not bounded as exceeded: one of them may have made the
 * last attempt fail. Returns whether there is any. */
int hrp_drives_mark_unbounded(Body *body);

/* Bound the efforts that left their ranges, for the next attempt. */
void hrp_drives_bound_exceeded(Body *body);

/* Apply the wrenches of all links to their groups for the next step. */
void hrp_wrenches_apply(Body *body);

/* Lift the masses without weight. */
void hrp_weights_lift(const World *world, Body *body);

#endif
