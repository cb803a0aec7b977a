/* What a body is made of: the arrays of an Articulation
 * (hrp_sim/engine/articulation/articulation.py). */
#ifndef HRP_SIM_ODE_ARTICULATION_H
#define HRP_SIM_ODE_ARTICULATION_H

#include <stddef.h>

#include "vectors.h"

enum { JOINT_FIXED, JOINT_HINGE, JOINT_SLIDER };
enum { LOOP_BALL, LOOP_HINGE, LOOP_FIXED, LOOP_PISTON, LOOP_XY, LOOP_Z };
enum { ATTACH_BALL = LOOP_BALL, ATTACH_HINGE = LOOP_HINGE, ATTACH_FIXED = LOOP_FIXED,
       ATTACH_PISTON = LOOP_PISTON, ATTACH_XY = LOOP_XY, ATTACH_Z = LOOP_Z, ATTACH_SLIDER };
enum { GEOM_BOX, GEOM_SPHERE, GEOM_CYLINDER, GEOM_CAPSULE, GEOM_MESH };
enum { CONTACT_NEVER, CONTACT_ALWAYS, CONTACT_UNLESS_OVERLAPPING, CONTACT_UNLESS_TOUCHING };

#define PROBLEM_SIZE 200 /* of the text of a problem */

/* The columns, in the order in which they are set. */
typedef enum {
    LINK_GROUP, LINK_R, LINK_P, LINK_TRACK_AXIS, LINK_WATCHED,
    GROUP_MASS, GROUP_INERTIA, GROUP_LIFT, GROUP_ZERO_R, GROUP_ZERO_P,
    GROUP_R, GROUP_P, GROUP_V, GROUP_W,
    JOINT_KIND, JOINT_LINK, JOINT_COORDINATE, JOINT_CHILD, JOINT_PARENT,
    JOINT_ANCHOR, JOINT_AXIS, JOINT_LOWER, JOINT_UPPER,
    JOINT_EFFORT_LOWER, JOINT_EFFORT_UPPER, JOINT_ROTOR_INERTIA,
    JOINT_DAMPING, JOINT_FRICTION, JOINT_STIFFNESS, JOINT_REST,
    LOOP_KIND, LOOP_A, LOOP_B, LOOP_R_A, LOOP_P_A, LOOP_R_B, LOOP_P_B, LOOP_AXIS,
    GEAR_FOLLOWER, GEAR_LEADER, GEAR_RATIO, GEAR_OFFSET,
    GEOM_KIND, GEOM_LINK, GEOM_SIZE, GEOM_R, GEOM_P, GEOM_MATERIAL, GEOM_SURFACE,
    GEOM_FIRST_VERTEX, GEOM_FIRST_TRIANGLE, VERTICES, TRIANGLES,
    CONTACTS, START_Q, START_DQ,
    FLAT_FIELDS
} FlatField;

typedef enum {
    PER_LINK, PER_GROUP, PER_JOINT, PER_LOOP, PER_GEAR, PER_GEOM, PER_COORDINATE,
    PER_VERTEX, PER_TRIANGLE, PER_GEOM_AND_END, PER_PAIR, PER_KINDS
} Per;

/* Contact properties that a model declares, a row of Geoms.surface; negative ones are not
 * declared. */
enum { RULE_NONE, RULE_SMALLER, RULE_LARGER };
typedef struct {
    dReal rule, friction[2], along[3]; /* along: in the frame of the geom, or zero */
    dReal stiffness, damping, restitution, bounce_speed, is_frictionless, priority;
} Surface;

#define SURFACE_NUMBERS ((int)(sizeof(Surface) / sizeof(dReal)))

/* A column: its owner in an Articulation (NULL: itself), 'd' for double or 'i' for int, numbers of
 * each item, and what there is one item of. */
typedef struct {
    const char *owner, *name;
    char type;
    int width;
    Per per;
} FlatColumn;

extern const FlatColumn hrp_flat_columns[FLAT_FIELDS];

/* The columns of an Articulation, which the caller owns, and how many items there are. */
typedef struct {
    const void *data[FLAT_FIELDS];
    long length[FLAT_FIELDS]; /* in numbers */
    long count[PER_KINDS];
} Flat;

static inline const double *flat_reals(const Flat *flat, FlatField field)
{
    return flat->data[field];
}
static inline const int *flat_ints(const Flat *flat, FlatField field)
{
    return flat->data[field];
}

/* Return of how many numbers a column is to be, -1 if it determines a count itself. */
long hrp_flat_expected_length(const Flat *flat, FlatField field);

/* Set a column; those before it are set. */
void hrp_flat_set(Flat *flat, FlatField field, const void *data, long length);

/* Write a problem for people. */
void hrp_problem_set(char *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Return mass and inertia of a group. */
void hrp_group_mass(const Flat *flat, long g, dMass *mass);

/* Check all numbers and indices. Returns 0 and describes the problem if one is out of range. */
int hrp_flat_check(const Flat *flat, int materials, char *problem);

#endif
