/* Extra joints: within a body they close kinematic loops; others connect links of two bodies. */
#include "loops.h"
#include "joints.h"
#include "sleep.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>

#define UNREACHABLE_SPEED 1e12 /* keeps the normal row of a contact inactive, in [m/s] */

static void point_into_world(dReal out[3], dBodyID group, const dReal p[3])
{
    memcpy(out, p, 3 * sizeof(dReal));
    if (!group)
        return;
    rotate4(out, dBodyGetRotation(group), p);
    for (int i = 0; i < 3; i++)
        out[i] += dBodyGetPosition(group)[i];
}

static void direction_into_world(dReal out[3], dBodyID group, const dReal v[3])
{
    memcpy(out, v, 3 * sizeof(dReal));
    if (group)
        rotate4(out, dBodyGetRotation(group), v);
}

/* Transform a joint frame from B to A, with the pose of B in A. */
static void frame_transform(Frame *X_AJ, const dReal R[9], const dReal p[3], const Frame *X_BJ)
{
    rotate3(X_AJ->p, R, X_BJ->p);
    for (int i = 0; i < 3; i++) {
        X_AJ->p[i] += p[i];
        for (int k = 0; k < 3; k++)
            X_AJ->R[3 * i + k] = R[3 * i] * X_BJ->R[k] + R[3 * i + 1] * X_BJ->R[3 + k] +
                                 R[3 * i + 2] * X_BJ->R[6 + k];
    }
}

static void frame_into_world(Frame *X_WJ, dBodyID group, const Frame *X_GJ)
{
    const dReal origin[3] = {0.0, 0.0, 0.0};
    dReal R[9];
    for (int i = 0; i < 9; i++)
        R[i] = group ? dBodyGetRotation(group)[i / 3 * 4 + i % 3] : i % 4 == 0;
    frame_transform(X_WJ, R, group ? dBodyGetPosition(group) : origin, X_GJ);
}

/* Place a group so that its joint frame X_GJ lies at X_WJ. */
static void group_place_frame(dBodyID group, const Frame *X_WJ, const Frame *X_GJ)
{
    dMatrix3 R = {0.0};
    dReal arm[3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            R[4 * i + k] = dot3(X_WJ->R + 3 * i, X_GJ->R + 3 * k);
    rotate4(arm, R, X_GJ->p);
    dBodySetRotation(group, R);
    dBodySetPosition(group, X_WJ->p[0] - arm[0], X_WJ->p[1] - arm[1], X_WJ->p[2] - arm[2]);
}

/* Create an ODE joint between groups whose joint frames coincide; the first is not the world. */
static dJointID joint_create(dWorldID world, int kind, dBodyID first, dBodyID second,
                             const dReal p[3], const dReal axis[3])
{
    dJointID joint;
    if (kind == LOOP_BALL) {
        joint = dJointCreateBall(world, 0);
        dJointAttach(joint, first, second);
        dJointSetBallAnchor(joint, p[0], p[1], p[2]);
    } else if (kind == LOOP_HINGE) {
        joint = dJointCreateHinge(world, 0);
        dJointAttach(joint, first, second);
        dJointSetHingeAnchor(joint, p[0], p[1], p[2]);
        dJointSetHingeAxis(joint, axis[0], axis[1], axis[2]);
    } else if (kind == LOOP_PISTON) {
        joint = dJointCreatePiston(world, 0);
        dJointAttach(joint, first, second);
        dJointSetPistonAnchor(joint, p[0], p[1], p[2]);
        dJointSetPistonAxis(joint, axis[0], axis[1], axis[2]);
    } else {
        joint = dJointCreateFixed(world, 0);
        dJointAttach(joint, first, second);
        dJointSetFixed(joint);
    }
    return joint;
}

static void frame_read(Frame *frame, const Flat *flat, FlatField R, FlatField p, int i)
{
    memcpy(frame->R, flat_reals(flat, R) + 9 * i, sizeof frame->R);
    memcpy(frame->p, flat_reals(flat, p) + 3 * i, sizeof frame->p);
}

/* Create an extra joint.
 *
 * The two joint frames need not coincide in the initial posture: one group is moved temporarily so
 * that they do while the joint is created. The joint then corrects the error.
 */
static void loop_create(World *world, Loop *loop, int kind, const dBodyID groups[2],
                        const Frame frames[2], const dReal axis_J[3])
{
    const int side = groups[1] != NULL; /* which group is moved */
    dBodyID moved = groups[side], other = groups[!side];
    Frame X_WJ;
    dReal axis[3], p[3];
    dMatrix3 R;
    frame_into_world(&X_WJ, other, &frames[!side]);
    rotate3(axis, X_WJ.R, axis_J);
    memcpy(p, dBodyGetPosition(moved), sizeof p);
    memcpy(R, dBodyGetRotation(moved), sizeof R);
    group_place_frame(moved, &X_WJ, &frames[side]);
    loop->joint = joint_create(world->world, kind, moved, other, X_WJ.p, axis);
    const dReal *at = kind != LOOP_FIXED ? X_WJ.p : dBodyGetPosition(other ? other : moved);
    hrp_attachment_init(&loop->attachment, kind, moved, other, at, axis);
    dBodySetRotation(moved, R);
    dBodySetPosition(moved, p[0], p[1], p[2]);
}

/* Describe an XY or a Z joint: its axis and one point belong to the first group, the other point to
 * the second. */
static void plane_attach(Attachment *attachment, int kind, const dBodyID groups[2],
                         const Frame frames[2], const dReal axis_J[3])
{
    const int owner = groups[0] == NULL; /* the first of an Attachment is not the world */
    *attachment = (Attachment){
        .kind = kind, .axis_owner = owner, .first = groups[owner], .second = groups[!owner]};
    rotate3(attachment->axis[owner], frames[0].R, axis_J);
    memcpy(attachment->anchor[owner], frames[0].p, sizeof frames[0].p);
    memcpy(attachment->anchor[!owner], frames[1].p, sizeof frames[1].p);
}

/* Set up an extra joint between groups in their present poses; one may be the world. */
static void loop_init(World *world, Loop *loop, int kind, const dBodyID groups[2],
                      const Frame frames[2], const dReal axis_J[3])
{
    if (kind == LOOP_XY || kind == LOOP_Z)
        plane_attach(&loop->attachment, kind, groups, frames, axis_J);
    else
        loop_create(world, loop, kind, groups, frames, axis_J);
}

void hrp_loops_create(World *world, Body *body, const Flat *flat)
{
    for (int i = 0; i < body->loops; i++) {
        const dBodyID groups[2] = {group_or_world(body, flat_ints(flat, LOOP_A)[i]),
                                   group_or_world(body, flat_ints(flat, LOOP_B)[i])};
        Frame frames[2];
        frame_read(&frames[0], flat, LOOP_R_A, LOOP_P_A, i);
        frame_read(&frames[1], flat, LOOP_R_B, LOOP_P_B, i);
        loop_init(world, &body->loop[i], flat_ints(flat, LOOP_KIND)[i], groups, frames,
                  flat_reals(flat, LOOP_AXIS) + 3 * i);
    }
}

/* Create an extra joint between groups that may be anywhere. It is made with one of them at the
 * origin, so that it does not depend on their poses, to the last bit. */
static void loop_create_between(World *world, Loop *loop, int kind, const dBodyID groups[2],
                                const Frame frames[2], const dReal axis_J[3])
{
    dMatrix3 unity;
    GroupState states[2];
    dRSetIdentity(unity);
    for (int i = 0; i < 2; i++) {
        if (!groups[i])
            continue;
        const Motion motion = hrp_motion_of(groups[i]);
        hrp_group_save(&motion, &states[i]);
        dBodySetPosition(groups[i], 0.0, 0.0, 0.0);
        dBodySetRotation(groups[i], unity);
    }
    loop_init(world, loop, kind, groups, frames, axis_J);
    for (int i = 0; i < 2; i++)
        if (groups[i])
            hrp_group_restore(groups[i], &states[i]);
}

/* Add the rows of an XY or a Z joint for the next step.
 *
 * ODE has neither joint, but the friction rows of a contact constrain the relative velocity of two
 * bodies at a point along given directions. Infinite friction makes them two-sided; the normal row
 * of the contact is made inactive.
 *
 * The directions turn with the group that owns the axis; the error is the position of the other
 * one's point relative to its own along them. Its rate is the relative velocity of the two groups at
 * the other one's point, so the contact lies there, and a fraction (ERP) of the error is corrected in
 * each step as in ODE's own joints.
 */
static void loop_hold(World *world, const Attachment *attachment)
{
    const int owner = attachment->axis_owner, along_axis = attachment->kind == LOOP_Z;
    const dBodyID groups[2] = {attachment->first, attachment->second};
    const dBodyID a = groups[owner], b = groups[!owner];
    dReal from[3], to[3], second[3];
    dVector3 across, third;
    dContact contact;
    memset(&contact, 0, sizeof contact);
    dReal *normal = contact.geom.normal, *first = contact.fdir1;
    dPlaneSpace(attachment->axis[owner], across, third);
    direction_into_world(first, a, along_axis ? attachment->axis[owner] : across);
    direction_into_world(normal, a, along_axis ? across : attachment->axis[owner]);
    cross3(second, normal, first);
    point_into_world(from, a, attachment->anchor[owner]);
    point_into_world(to, b, attachment->anchor[!owner]);
    memcpy(contact.geom.pos, to, sizeof to);
    for (int i = 0; i < 3; i++)
        to[i] -= from[i];
    /* ODE constrains the velocity of the joint's first body, which is b unless b is the world. */
    dReal rate = (b ? -1.0 : 1.0) * dWorldGetERP(world->world) / world->step;
    contact.surface.mode =
        dContactFDir1 | dContactMu2 | dContactMotion1 | dContactMotion2 | dContactMotionN;
    contact.surface.mu = dInfinity;
    contact.surface.mu2 = along_axis ? 0.0 : dInfinity;
    contact.surface.motion1 = rate * dot3(to, first);
    contact.surface.motion2 = rate * dot3(to, second);
    contact.surface.motionN = -UNREACHABLE_SPEED;
    dJointID joint = dJointCreateContact(world->world, world->contact_group, &contact);
    dJointAttach(joint, b ? b : a, b ? a : NULL);
}

void hrp_loops_hold(World *world)
{
    for (int i = 0; i < world->count; i++)
        for (int k = 0; k < world->bodies[i]->loops; k++)
            if (!world->bodies[i]->loop[k].joint)
                loop_hold(world, &world->bodies[i]->loop[k].attachment);
    for (int i = 0; i < world->body_joint_count; i++)
        if (!world->body_joints[i].loop.joint)
            loop_hold(world, &world->body_joints[i].loop.attachment);
}

int hrp_body_joints_connect(const World *world, const Body *const bodies[2],
                            LinkShapes *const links[2])
{
    for (int i = 0; i < world->body_joint_count; i++) {
        const BodyJoint *joint = &world->body_joints[i];
        const Attachment *at = &joint->loop.attachment;
        const int side = joint->body[0] != bodies[0]->id, turned = at->first != links[0]->group;
        if (joint->body[side] == bodies[0]->id && joint->body[!side] == bodies[1]->id &&
            (turned ? at->second : at->first) == links[0]->group &&
            (turned ? at->first : at->second) == links[1]->group)
            return 1;
    }
    return 0;
}

static void body_joint_destroy(World *world, int index)
{
    for (int side = 0; side < 2; side++)
        hrp_body_wake(world, hrp_body_of(world, world->body_joints[index].body[side]));
    if (world->body_joints[index].loop.joint)
        dJointDestroy(world->body_joints[index].loop.joint);
    world->body_joint_count--;
    memmove(&world->body_joints[index], &world->body_joints[index + 1],
            sizeof(BodyJoint) * (size_t)(world->body_joint_count - index));
}

void hrp_body_joints_remove(World *world, const Body *body)
{
    for (int i = world->body_joint_count - 1; i >= 0; i--) {
        const BodyJoint *joint = &world->body_joints[i];
        if (joint->body[0] == body->id || joint->body[1] == body->id)
            body_joint_destroy(world, i);
    }
}

void hrp_body_joint_create(World *world, void *arguments)
{
    Connection *to = arguments;
    dBodyID groups[2];
    Frame in_groups[2];
    for (int i = 0; i < 2; i++) {
        Body *body = to->bodies[i];
        hrp_body_wake(world, body);
        groups[i] = group_or_world(body, body->link_group[to->links[i]]);
        frame_transform(&in_groups[i], body->link_R + 9 * to->links[i],
                        body->link_p + 3 * to->links[i], &to->frames[i]);
    }
    BodyJoint *made = &world->body_joints[world->body_joint_count];
    *made = (BodyJoint){.body = {to->bodies[0]->id, to->bodies[1]->id}};
    loop_create_between(world, &made->loop, to->kind, groups, in_groups, to->axis);
    made->id = world->next_body_joint++;
    world->body_joint_count++;
}

int hrp_body_joints_reserve(World *world)
{
    BodyJoint *grown =
        realloc(world->body_joints, sizeof(BodyJoint) * (size_t)(world->body_joint_count + 1));
    if (grown)
        world->body_joints = grown;
    return grown != NULL;
}

void hrp_body_joint_remove(World *world, void *index)
{
    body_joint_destroy(world, *(const int *)index);
}
