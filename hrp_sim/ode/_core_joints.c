/* Joints, their drives and extra joints. */
#include "_core.h"

static dBodyID group_or_world(const Body *body, int group)
{
    return group < 0 ? NULL : body->group[group];
}

/* Express a point or a direction of W in a group's frame; in W itself for the world. */
void into_group(dReal out[3], dBodyID group, const double *in, int is_point)
{
    dReal from[3] = {in[0], in[1], in[2]};
    if (group) {
        const dReal *p = dBodyGetPosition(group);
        for (int i = 0; is_point && i < 3; i++)
            from[i] -= p[i];
        unrotate4(out, dBodyGetRotation(group), from);
    } else {
        memcpy(out, from, sizeof from);
    }
}

static dJointID joint_create(dWorldID world, int kind, dBodyID child, dBodyID parent,
                             const double *anchor, const double *axis)
{
    dJointID joint;
    if (kind == JOINT_HINGE) {
        joint = dJointCreateHinge(world, 0);
        dJointAttach(joint, child, parent);
        dJointSetHingeAnchor(joint, anchor[0], anchor[1], anchor[2]);
        dJointSetHingeAxis(joint, axis[0], axis[1], axis[2]);
    } else if (kind == JOINT_SLIDER) {
        joint = dJointCreateSlider(world, 0);
        dJointAttach(joint, child, parent);
        dJointSetSliderAxis(joint, axis[0], axis[1], axis[2]);
    } else {
        joint = dJointCreateFixed(world, 0);
        dJointAttach(joint, child, parent);
        dJointSetFixed(joint);
    }
    return joint;
}

/* Make the rows of a drive: both along the axis, idle until an effort is asked for.
 *
 * They are a joint of their own, because a powered hinge that reaches its stop turns
 * into an infinite force in ODE.
 */
static dJointID motor_create(dWorldID world, int kind, dBodyID child, dBodyID parent,
                             const double *axis)
{
    dJointID motor;
    if (kind == JOINT_HINGE) {
        motor = dJointCreateAMotor(world, 0);
        dJointAttach(motor, child, parent);
        dJointSetAMotorNumAxes(motor, 2);
        for (int row = 0; row < 2; row++)
            dJointSetAMotorAxis(motor, row, 1, axis[0], axis[1], axis[2]);
    } else {
        motor = dJointCreateLMotor(world, 0);
        dJointAttach(motor, child, parent);
        dJointSetLMotorNumAxes(motor, 2);
        for (int row = 0; row < 2; row++)
            dJointSetLMotorAxis(motor, row, 1, axis[0], axis[1], axis[2]);
    }
    return motor;
}

static void joint_describe(Joint *joint, const Flat *flat, int j)
{
    joint->kind = flat_ints(flat, JOINT_KIND)[j];
    joint->link = flat_ints(flat, JOINT_LINK)[j];
    joint->coordinate = flat_ints(flat, JOINT_COORDINATE)[j];
    joint->child = flat_ints(flat, JOINT_CHILD)[j];
    joint->parent = flat_ints(flat, JOINT_PARENT)[j];
    joint->lower = flat_reals(flat, JOINT_LOWER)[j];
    joint->upper = flat_reals(flat, JOINT_UPPER)[j];
    joint->effort_lower = flat_reals(flat, JOINT_EFFORT_LOWER)[j];
    joint->effort_upper = flat_reals(flat, JOINT_EFFORT_UPPER)[j];
    joint->rotor_inertia = flat_reals(flat, JOINT_ROTOR_INERTIA)[j];
    joint->watched = flat_ints(flat, LINK_WATCHED)[joint->link];
}

/* Make the joints; the groups stand where every joint is at zero. */
void joints_create(World *world, Body *body, const Flat *flat)
{
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        joint_describe(joint, flat, j);
        const double *anchor = flat_reals(flat, JOINT_ANCHOR) + 3 * j;
        const double *axis = flat_reals(flat, JOINT_AXIS) + 3 * j;
        dBodyID child = body->group[joint->child];
        dBodyID parent = group_or_world(body, joint->parent);
        into_group(joint->axis, child, axis, 0);
        into_group(joint->anchor, child, anchor, 1);
        into_group(joint->parent_anchor, parent, anchor, 1);
        joint->joint = joint_create(world->world, joint->kind, child, parent, anchor, axis);
        if (joint->kind != JOINT_FIXED)
            joint->motor = motor_create(world->world, joint->kind, child, parent, axis);
        if (!world->joint_limits) {
            joint->lower = -dInfinity;
            joint->upper = dInfinity;
        }
        if (joint->watched) {
            dJointSetFeedback(joint->joint, &joint->feedback);
            if (joint->motor)
                dJointSetFeedback(joint->motor, &joint->motor_feedback);
        }
    }
}

static void from_group(dReal out[3], dBodyID group, const double *in)
{
    memcpy(out, in, sizeof(dReal) * 3);
    if (group) {
        rotate4(out, dBodyGetRotation(group), in);
        for (int i = 0; i < 3; i++)
            out[i] += dBodyGetPosition(group)[i];
    }
}

static dJointID loop_create(dWorldID world, int kind, dBodyID a, dBodyID b, const dReal p[3],
                            const dReal axis[3])
{
    dJointID joint;
    if (kind == LOOP_BALL) {
        joint = dJointCreateBall(world, 0);
        dJointAttach(joint, a, b);
        dJointSetBallAnchor(joint, p[0], p[1], p[2]);
    } else if (kind == LOOP_HINGE) {
        joint = dJointCreateHinge(world, 0);
        dJointAttach(joint, a, b);
        dJointSetHingeAnchor(joint, p[0], p[1], p[2]);
        dJointSetHingeAxis(joint, axis[0], axis[1], axis[2]);
    } else if (kind == LOOP_PISTON) {
        joint = dJointCreatePiston(world, 0);
        dJointAttach(joint, a, b);
        dJointSetPistonAnchor(joint, p[0], p[1], p[2]);
        dJointSetPistonAxis(joint, axis[0], axis[1], axis[2]);
    } else {
        joint = dJointCreateFixed(world, 0);
        dJointAttach(joint, a, b);
        dJointSetFixed(joint);
    }
    return joint;
}

/* Make the extra joints in the starting posture.
 *
 * The two points need not meet exactly there: one group is moved so that they do while
 * the joint is made, and back, so that the error is the joint's to correct.
 */
void loops_create(World *world, Body *body, const Flat *flat)
{
    for (int i = 0; i < body->loops; i++) {
        dBodyID a = group_or_world(body, flat_ints(flat, LOOP_A)[i]);
        dBodyID b = group_or_world(body, flat_ints(flat, LOOP_B)[i]);
        dReal p_a[3], p_b[3], axis[3], back[3];
        memcpy(axis, flat_reals(flat, LOOP_AXIS) + 3 * i, sizeof axis);
        if (a)
            rotate4(axis, dBodyGetRotation(a), flat_reals(flat, LOOP_AXIS) + 3 * i);
        from_group(p_a, a, flat_reals(flat, LOOP_P_A) + 3 * i);
        from_group(p_b, b, flat_reals(flat, LOOP_P_B) + 3 * i);
        dBodyID moved = b ? b : a;
        const dReal *meet = b ? p_a : p_b, *leave = b ? p_b : p_a;
        memcpy(back, dBodyGetPosition(moved), sizeof back);
        dBodySetPosition(moved, back[0] + meet[0] - leave[0], back[1] + meet[1] - leave[1],
                         back[2] + meet[2] - leave[2]);
        body->loop[i] =
            loop_create(world->world, flat_ints(flat, LOOP_KIND)[i], a, b, meet, axis);
        dBodySetPosition(moved, back[0], back[1], back[2]);
    }
}
