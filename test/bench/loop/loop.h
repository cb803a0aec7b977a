/* The same scene in plain C, as a baseline for the engine's speed.
 *
 * A straightforward program without any checks: it reads the scene from a file of numbers; each
 * body of several shapes has a simple space, as have all static shapes; a callback lists the pairs
 * of shapes that may touch; one motor row covers rotor and gains of a joint; the state is written
 * to plain arrays. See engine.c for what it shares with the engine.
 */
#ifndef LOOP_H
#define LOOP_H

#include "engine.h"

enum { FOUND_BY_ORIGINAL = 100 };
enum { FIXED, HINGE, SLIDER };
enum { LOOP_BALL, LOOP_HINGE, LOOP_FIXED, LOOP_PISTON, LOOP_XY, LOOP_Z };
enum { BOX, SPHERE, CYLINDER, CAPSULE, MESH };
enum { NEVER, ALWAYS, UNLESS_OVERLAPPING, UNLESS_TOUCHING };

/* User data of a geom; order is its index among the moving or the static shapes of its body. */
typedef struct {
    double mesh[MESH_BYTES / 8]; /* the engine's */
    void *shape, *of_link;       /* likewise */
    int body, link, standing, order, material;
    dBodyID group;
    const double *points; /* of a mesh, else NULL */
    const dTriIndex *corners;
} Tag;

typedef struct {
    int kind, child, parent, link, coordinate, turns;
    dJointID joint, motor;
    double axis[3], anchor[3], parent_anchor[3]; /* in the child's and the parent's frame */
    double lower, upper, effort_lower, effort_upper, rotor, viscosity, friction;
    double kp, kd, q_aim, dq_aim, effort;
    double q, dq, q_saved, dq_saved;
    double base, damping, applied; /* effort at the end of the step: base - damping dq */
    double drive;                  /* that effort */
    double drift;                  /* change of the rate in half a step of free motion */
    double axis_then[3];           /* in the middle of the step, in the world */
    int is_on[2], is_bounded, was_bounded, has_exceeded;
    int effort_from_force; /* whether the effort is computed from the motor's force */
    dJointFeedback feedback, motor_feedback;
} Joint;

typedef struct {
    int kind;
    dBodyID a, b;
    double R_a[9], p_a[3], R_b[9], p_b[3], axis[3], across[3]; /* in the frames of a and b */
} Loop;

typedef struct {
    int group, watched;
    double R[9], p[3]; /* in the group's frame, or in the world without a group */
    double track_axis[3], track_speed;
} Link;

typedef struct {
    double p[3], R[9], v[3], w[3], a[3], alpha[3], force[3], torque[3];
} LinkMotion;

typedef struct {
    dReal p[3], quaternion[4], R[12], v[3], w[3];
} State;

typedef struct {
    int links, groups, joints, loops;
    Link *link;
    LinkMotion *motion;
    dBodyID *group;
    State *saved;
    Joint *joint;
    Loop *loop;
    double *q, *dq, *effort;
    int *allowed;
    dSpaceID space;
    void *engine;
} Body;

typedef struct {
    dWorldID world;
    dSpaceID all, standing, untouched; /* the last only stops rays */
    dJointGroupID contacts;
    Body *body;
    int bodies, max_contacts, quick, self_collision, joint_limits;
    int remembers; /* whether steps save the state before them */
    int original;  /* work like the original plugin */
    int ordered;   /* contacts of pairs of links in the engine's order, not in the reverse one */
    double step, gravity[3];
    int materials; /* friction and restitution have a row and a column for each */
    double *friction, *restitution;
    int rays, ray_body;
    double *ray_origin, *ray_direction, *ray_distance, ray_reach;
} Scene;

extern Scene scene;

/* scene.c */
void scene_read(const char *path);
void *array(int count, size_t size);
void numbers(double *values, int count);
double number(void);
int integer(void);
void matrix(dMatrix3 R);

/* joints.c, extra.c, shapes.c */
void joints_create(Body *body);
void into(double out[3], dBodyID group, const double in[3], int is_point);
dJointID hinge(dBodyID a, dBodyID b, const double p[3], const double axis[3]);
dJointID fixed(dBodyID a, dBodyID b);
void loop_create(Body *body, Loop *loop);
void loops_hold(const Body *body);
void geom_create(int of_body, int order[2]);
void tag_complete(dGeomID geom, void *shape, void *of_link);

/* touch.c */
void touch(dGeomID a, dGeomID b, const dContactGeom *point);
void touch_as_original(dGeomID a, dGeomID b);

/* drives.c, contacts.c, motion.c */
void joints_drive(Body *body);
void joints_read(Body *body);
void body_to_middle(Body *body);
void body_to_end(Body *body);
void joints_weigh(Body *body);
int joints_exceed(Body *body);
void state_save(Body *body);
void state_restore(Body *body);
void overlaps_forbid(void);
void contacts_create(void);
void motion_read(double step);
void rays_cast(void);

static inline void rotate3(double out[3], const double *R9, const double v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = R9[3 * i] * v[0] + R9[3 * i + 1] * v[1] + R9[3 * i + 2] * v[2];
}
static inline void rotate(double out[3], const dReal *R12, const double v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = R12[4 * i] * v[0] + R12[4 * i + 1] * v[1] + R12[4 * i + 2] * v[2];
}
static inline void unrotate(double out[3], const dReal *R12, const double v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = R12[i] * v[0] + R12[4 + i] * v[1] + R12[8 + i] * v[2];
}
static inline void cross(double out[3], const double a[3], const double b[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}
static inline double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

#endif
