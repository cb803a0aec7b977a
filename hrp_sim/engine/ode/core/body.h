/* A body in ODE: rigid groups, joints between them, and what they are to do. */
#ifndef HRP_SIM_ODE_BODY_H
#define HRP_SIM_ODE_BODY_H

#include "shapes.h"

#include <stdint.h>

/* Arrays of a BodyMotion, a JointDrive and an ExternalWrench (hrp_sim/engine/state.py), which are
 * read and written in place as long as the body lives. */
typedef enum {
    MOTION_P, MOTION_R, MOTION_V, MOTION_W, MOTION_A, MOTION_ALPHA,
    MOTION_FORCE, MOTION_TORQUE, MOTION_Q, MOTION_DQ, MOTION_EFFORT,
    MOTION_TRACK_POSITION,
    DRIVE_Q, DRIVE_DQ, DRIVE_KP, DRIVE_KD, DRIVE_EFFORT, DRIVE_TRACK_SPEED,
    DRIVE_SURFACE_VELOCITY,
    WRENCH_FORCE, WRENCH_TORQUE,
    LIVE_FIELDS
} LiveField;

typedef struct {
    dReal p[3], quaternion[4], R[12], v[3], w[3];
} GroupState;

/* ODE's own numbers of a group, read and written in place: calls cost more than most of what is
 * done with them. ODE's shapes do not follow by themselves, see hrp_group_mark_moved. */
typedef struct {
    dReal *p, *quaternion, *R, *v, *w, *force, *torque;
} Motion;

/* Inertia of groups that turn side by side. */
#define SPIN_LANES 4
typedef struct {
    Quad axis[3][3], moment[3]; /* principal ones, in ascending order of the moments */
    Quad inverse[3];            /* of the moments */
    Quad first, last;           /* inverse of the first and last moment, less the middle one */
} Spin;

typedef struct {
    dReal q, dq;
    int turns;   /* of a hinge: q = ODE's angle + 2 pi turns */
    int active;  /* exact solver: bounds of its rows in the last step, two bits each; else whether
                    a separate bounded row limits the drive's effort */
} JointState;

/* Parameters of a motor row as last set in ODE. */
typedef struct {
    dReal softness, bound;
    int is_on;
} Row;

/* How a joint holds two groups; the first is not the world. Index 0 is the first, 1 the second:
 * points and directions are in their frames, or in W. */
typedef struct {
    int kind, axis_owner;    /* axis_owner: of XY and Z joints, which group has the axis */
    dBodyID first, second;   /* the second may be NULL, the world */
    dReal anchor[2][3], axis[2][3];
    dQuaternion relative;    /* orientation of the second in the first */
    dReal offset[3];         /* centre of mass of the first in the second */
} Attachment;

/* A row along the axis of a joint: rate + softness * force = velocity, lower <= force <= upper. */
typedef struct {
    dReal velocity, softness, lower, upper;
} AxisRow;

typedef struct {
    int kind, link, coordinate, child, parent;
    Attachment attachment;
    dJointID joint, motor;
    dReal axis[3], anchor[3];       /* in the child's frame */
    dReal axis_W[3];                /* in W, where joint_place computed it last */
    dQuaternion sine;               /* of a hinge, see half_angle */
    dReal parent_anchor[3];         /* in the parent's frame, or in W */
    dReal lower, upper, effort_lower, effort_upper, rotor_inertia;
    dReal viscous_friction, coulomb_friction;
    dReal stiffness, rest;          /* of the spring */
    JointState now, saved;
    dReal base, damping;            /* drive at the end of the step: base - damping dq */
    dReal passive;                  /* rotor inertia / step + viscous friction */
    dReal momentum;                 /* rotor inertia / step * rate before the step */
    dReal applied;                  /* effort applied directly to the ODE bodies */
    dReal effort;                   /* of the drive, in the last step */
    dReal half_sine, half_cosine;   /* of half the angle of a hinge, where it was last read */
    dReal drift;                    /* change of the rate in half a step of free motion */
    dJointFeedback feedback, motor_feedback;
    Row rows[2];
    int watched;                    /* whether a force sensor measures its wrench */
    int exceeded;                   /* whether its effort left its range in this step */
    int effort_from_force;          /* whether the effort is measured from the motor's force */
} Joint;

typedef struct {
    Attachment attachment;
    dJointID joint; /* NULL where ODE has no such joint: see loop_hold */
} Loop;

/* A mimic joint: q of the follower = ratio * q of the leader + offset. The exact solver alone holds
 * it; with others the follower has a servo. */
typedef struct {
    int follower, leader; /* joints */
    dReal ratio, offset;
} Gear;

typedef struct {
    dReal R[9], p[3];
} Frame;

struct Body {
    long id;
    int links, groups, joints, loops, gears, meshes, coordinates;
    dBodyID *group;
    Motion *motion;       /* of each group */
    Spin *spin;           /* of SPIN_LANES groups each */
    GroupState *start, *saved;
    GroupState *middle;   /* poses in the middle of the step: of groups with a force sensor, and, if
                             ODE moves them, of all */
    dReal *start_q;
    int *link_group, *contacts;
    dReal *lift;          /* of each group: mass without weight, its first moment; or NULL */
    dReal *link_R, *link_p, *track_axis;
    dReal *before; /* v and w of each link as last written, 6 values each */
    Joint *joint;
    Loop *loop;
    Gear *gear;
    Mesh *mesh;
    Surface *surface;     /* of each shape */
    GeomSet moving, fixed;
    LinkPair *pairs;      /* pairs of the body's own links that may collide */
    dReal *limits;        /* of their shapes */
    LinkPair **near;      /* those of the pairs that may touch before room is used up, in order */
    size_t pair_count, limit_count, near_count;
    dReal room;           /* twice what each link may still move until all pairs are checked */
    int bounds_changed;   /* whether bounds in the frames of groups are new */
    int is_pushed;        /* whether an external wrench acts on a link in this call */
    int conveys;          /* whether the surface of a link moves in this call, as a conveyor's */
    int asleep, rest;     /* rest: steps for which it has been at rest, see sleep.h */
    Body *island;         /* the first body of its island, up to date while it sleeps */
    int stays_awake;      /* whether one of its island does, likewise */
    int is_touched;       /* while it sleeps, by a body that is awake */
    int is_driven;        /* whether it is to move at a speed */
    uint64_t inputs, surfaces; /* digests: of drives and external wrench, and of surface speeds */
    double *live[LIVE_FIELDS]; /* numpy's, see LiveField */
};

static inline double *live(const Body *body, LiveField field)
{
    return body->live[field];
}

static inline dBodyID group_or_world(const Body *body, int group)
{
    return group < 0 ? NULL : body->group[group];
}

/* Return the body of an id, or NULL; bodies are in the order of their ids. */
Body *hrp_body_of(const World *world, long id);

/* Return where ODE stores the motion of a group. */
Motion hrp_motion_of(dBodyID group);

/* Allocate a body for checked arrays, without any ODE objects. Returns NULL when memory is
 * short. */
Body *hrp_body_new(const Flat *flat);

/* Create a body in ODE. Returns 0 when memory is short; part of it may exist then. */
int hrp_body_create(World *world, Body *body, const Flat *flat);

/* Whether an articulation has the structure of this body. */
int hrp_body_matches(const Body *body, const Flat *flat);

/* Move the static links, and put the body where the articulation starts. */
void hrp_body_rebase(World *world, Body *body, const Flat *flat);

/* Put the groups and joints where an articulation starts, with no effort bounded yet. */
void hrp_body_move(Body *body, const Flat *flat);

/* Remove a body from ODE, also one that was only partly created. */
void hrp_body_destroy(Body *body);

/* Free the memory of a body. It was removed from ODE, or ODE must not be called. */
void hrp_body_free(Body *body);

#endif
