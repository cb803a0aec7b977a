/* Extra joints, which close kinematic loops. */
#include "loop.h"

#include <string.h>

static void point(double out[3], dBodyID group, const double p[3])
{
    memcpy(out, p, 3 * sizeof(double));
    if (!group)
        return;
    rotate(out, dBodyGetRotation(group), p);
    for (int i = 0; i < 3; i++)
        out[i] += dBodyGetPosition(group)[i];
}

static void direction(double out[3], dBodyID group, const double v[3])
{
    memcpy(out, v, 3 * sizeof(double));
    if (group)
        rotate(out, dBodyGetRotation(group), v);
}

static dJointID create(int kind, dBodyID a, dBodyID b, const double p[3], const double axis[3])
{
    dJointID joint;
    if (kind == LOOP_HINGE)
        return hinge(a, b, p, axis);
    if (kind == LOOP_FIXED)
        return fixed(a, b);
    if (kind == LOOP_BALL) {
        joint = dJointCreateBall(scene.world, 0);
        dJointAttach(joint, a, b);
        dJointSetBallAnchor(joint, p[0], p[1], p[2]);
    } else {
        joint = dJointCreatePiston(scene.world, 0);
        dJointAttach(joint, a, b);
        dJointSetPistonAnchor(joint, p[0], p[1], p[2]);
        dJointSetPistonAxis(joint, axis[0], axis[1], axis[2]);
    }
    return joint;
}

/* Create a joint where the frames X_a and X_b of two groups coincide: one group is moved there
 * temporarily. */
static void join(const Loop *loop, const double axis_J[3])
{
    dBodyID moved = loop->b ? loop->b : loop->a, other = loop->b ? loop->a : NULL;
    const double *R_m = loop->b ? loop->R_b : loop->R_a, *p_m = loop->b ? loop->p_b : loop->p_a;
    const double *R_o = loop->b ? loop->R_a : loop->R_b, *p_o = loop->b ? loop->p_a : loop->p_b;
    double R_WJ[9], p[3], column[3], turned[3], arm[3], axis[3], back[3];
    dMatrix3 R, R_back;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++)
            column[i] = R_o[3 * i + k];
        direction(turned, other, column);
        for (int i = 0; i < 3; i++)
            R_WJ[3 * i + k] = turned[i];
    }
    point(p, other, p_o);
    rotate3(axis, R_WJ, axis_J);
    memcpy(back, dBodyGetPosition(moved), sizeof back);
    memcpy(R_back, dBodyGetRotation(moved), sizeof R_back);
    for (int i = 0; i < 3; i++) {
        R[4 * i + 3] = 0.0;
        for (int k = 0; k < 3; k++)
            R[4 * i + k] = dot(R_WJ + 3 * i, R_m + 3 * k);
    }
    rotate(arm, R, p_m);
    dBodySetRotation(moved, R);
    dBodySetPosition(moved, p[0] - arm[0], p[1] - arm[1], p[2] - arm[2]);
    create(loop->kind, moved, other, p, axis);
    dBodySetRotation(moved, R_back);
    dBodySetPosition(moved, back[0], back[1], back[2]);
}

void loop_create(Body *body, Loop *loop)
{
    double axis_J[3];
    dVector3 axis, across, third;
    loop->kind = integer();
    int a = integer(), b = integer();
    loop->a = a < 0 ? NULL : body->group[a];
    loop->b = b < 0 ? NULL : body->group[b];
    numbers(loop->R_a, 9);
    numbers(loop->p_a, 3);
    numbers(loop->R_b, 9);
    numbers(loop->p_b, 3);
    numbers(axis_J, 3);
    rotate3(axis, loop->R_a, axis_J);
    dPlaneSpace(axis, across, third);
    memcpy(loop->axis, axis, sizeof loop->axis);
    memcpy(loop->across, across, sizeof loop->across);
    if (loop->kind != LOOP_XY && loop->kind != LOOP_Z)
        join(loop, axis_J);
}

/* XY and Z: contact rows that constrain a point of b along directions of a. */
static void hold(const Loop *loop)
{
    double from[3], to[3], second[3];
    dContact contact;
    memset(&contact, 0, sizeof contact);
    int is_z = loop->kind == LOOP_Z;
    double *normal = contact.geom.normal, *first = contact.fdir1;
    direction(first, loop->a, is_z ? loop->axis : loop->across);
    direction(normal, loop->a, is_z ? loop->across : loop->axis);
    cross(second, normal, first);
    point(from, loop->a, loop->p_a);
    point(to, loop->b, loop->p_b);
    memcpy(contact.geom.pos, to, sizeof to);
    for (int i = 0; i < 3; i++)
        to[i] -= from[i];
    double rate = (loop->b ? -1.0 : 1.0) * dWorldGetERP(scene.world) / scene.step;
    contact.surface.mode = dContactFDir1 | dContactMu2 | dContactMotion1 | dContactMotion2 |
                           dContactMotionN;
    contact.surface.mu = dInfinity;
    contact.surface.mu2 = is_z ? 0.0 : dInfinity;
    contact.surface.motion1 = rate * dot(to, first);
    contact.surface.motion2 = rate * dot(to, second);
    contact.surface.motionN = -1e12;
    dJointID joint = dJointCreateContact(scene.world, scene.contacts, &contact);
    dJointAttach(joint, loop->b ? loop->b : loop->a, loop->b ? loop->a : NULL);
}

void loops_hold(const Body *body)
{
    for (int i = 0; i < body->loops; i++)
        if (body->loop[i].kind == LOOP_XY || body->loop[i].kind == LOOP_Z)
            hold(&body->loop[i]);
}
