/* The state of the world: save, restore, check, and write to the arrays of bodies. */
#ifndef HRP_SIM_ODE_STATE_H
#define HRP_SIM_ODE_STATE_H

#include "world.h"

/* Arrays of a body's dynamic state, to save and restore; see SavedBody in saved_state.py. */
typedef enum {
    SAVED_P, SAVED_QUATERNION, SAVED_R, SAVED_V, SAVED_W,
    SAVED_Q, SAVED_DQ, SAVED_TURNS, SAVED_ACTIVE,
    SAVED_FIELDS
} SavedField;

/* A column: its name, 'd' for double or 'i' for int, and numbers of each group or joint. */
typedef struct {
    const char *name;
    char type;
    int per_group, width;
} SavedColumn;

extern const SavedColumn hrp_saved_columns[SAVED_FIELDS];

/* The columns of a SavedBody, which the caller owns. */
typedef struct {
    void *data[SAVED_FIELDS];
} Saved;

/* Make ODE's shapes follow a group that was moved in place. Steps do so only for shapes whose
 * contacts they look for; who reads shapes between steps calls hrp_shapes_update before. */
void hrp_group_mark_moved(dBodyID group);
void hrp_shapes_update(World *world);

/* Save the pose of a group, and restore it in place. */
void hrp_pose_save(const Motion *motion, GroupState *state);
void hrp_pose_restore(const Motion *motion, const GroupState *state);

/* Save pose and velocity of a group. */
void hrp_group_save(const Motion *motion, GroupState *state);

/* Restore a group to the last bit: ODE's setters would normalise the quaternion again. */
void hrp_group_restore(dBodyID group, const GroupState *state);

/* Let the joints of a body whose groups were placed start at positions, shape (coordinates), with no
 * effort bounded yet, and write its motion. */
void hrp_joints_start(Body *body, const dReal *q);

/* Save the state before a step that may fail. */
void hrp_state_save(World *world);
void hrp_state_restore(World *world);

/* Record the state of a new body as its initial state, and write it. */
void hrp_body_record_start(Body *body);

/* Reset every body to its initial state, and the random order of constraints to its seed. */
void hrp_state_reset(World *world);

/* Integrate the surface positions of tracks over a step; other links have speed zero. */
void hrp_tracks_advance(const Body *body, dReal step);

/* Return 0 and describe the fault if a group's state is not finite or too large. */
int hrp_state_check(World *world, Fault *fault);

/* Store the links' velocities, from which the next step computes accelerations. */
void hrp_velocities_store(const Body *body);

/* Write the motion of a body after a step. */
void hrp_motion_write(const Body *body, dReal step);

/* Write the motion of a body in a state that no step led to: accelerations and forces are zero. */
void hrp_motion_write_at_rest(const Body *body);

/* Whether all numbers of a body's saved state are finite. */
int hrp_saved_is_finite(const Body *body, const Saved *saved);

/* Write the dynamic state of a body into the arrays, to the last bit. */
void hrp_saved_read(const Body *body, const Saved *saved);

/* Set the state of a body from checked arrays. */
void hrp_saved_write(Body *body, const Saved *saved);

#endif
