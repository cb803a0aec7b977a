/* Joints between links of two bodies: they hold a gripped body, or connect the parts of a world. */
#include "_core.h"

#include <math.h>
#include <string.h>

/* Whether a joint connects the groups of two links of different bodies: like adjacent links of one
 * body, they do not collide then. */
int body_joints_connect(const World *world, const Body *const bodies[2],
                        LinkShapes *const links[2])
{
    for (int i = 0; i < world->body_joint_count; i++) {
        const BodyJoint *joint = &world->body_joints[i];
        const int side = joint->body[0] != bodies[0]->id;
        if (joint->body[side] == bodies[0]->id && joint->body[!side] == bodies[1]->id &&
            (side ? joint->loop.b : joint->loop.a) == links[0]->group &&
            (side ? joint->loop.a : joint->loop.b) == links[1]->group)
            return 1;
    }
    return 0;
}

static void joint_destroy(World *world, int index)
{
    if (world->body_joints[index].loop.joint)
        dJointDestroy(world->body_joints[index].loop.joint);
    world->body_joint_count--;
    memmove(&world->body_joints[index], &world->body_joints[index + 1],
            sizeof(BodyJoint) * (size_t)(world->body_joint_count - index));
}

/* Remove the joints between a body and others. */
void body_joints_remove(World *world, const Body *body)
{
    for (int i = world->body_joint_count - 1; i >= 0; i--) {
        const BodyJoint *joint = &world->body_joints[i];
        if (joint->body[0] == body->id || joint->body[1] == body->id)
            joint_destroy(world, i);
    }
}

typedef struct {
    BodyJoint made;
    int kind;
    Body *bodies[2];
    int links[2];
    Frame frames[2]; /* in the links */
    dReal axis[3];
} Connection;

/* Create a joint between two bodies; an OdeWork. */
static void connect(World *world, void *arguments)
{
    Connection *to = arguments;
    dBodyID groups[2];
    Frame in_groups[2];
    for (int i = 0; i < 2; i++) {
        const Body *body = to->bodies[i];
        const dReal *R = body->link_R + 9 * to->links[i], *p = body->link_p + 3 * to->links[i];
        const Frame *in_link = &to->frames[i];
        groups[i] = group_or_world(body, body->link_group[to->links[i]]);
        rotate3(in_groups[i].p, R, in_link->p);
        for (int r = 0; r < 3; r++) {
            in_groups[i].p[r] += p[r];
            for (int k = 0; k < 3; k++)
                in_groups[i].R[3 * r + k] = R[3 * r] * in_link->R[k] +
                                            R[3 * r + 1] * in_link->R[3 + k] +
                                            R[3 * r + 2] * in_link->R[6 + k];
        }
    }
    loop_create_between(world, &to->made.loop, to->kind, groups[0], &in_groups[0], groups[1],
                        &in_groups[1], to->axis);
}

/* Copy count finite numbers of an array. Returns 0 with an exception set. */
static int reals_fetch(PyObject *array, Py_ssize_t count, dReal *out)
{
    Py_buffer view;
    int good = 1;
    if (fetch_array(array, NULL, 'd', count, 0, &view))
        return 0;
    memcpy(out, view.buf, sizeof(dReal) * (size_t)count);
    PyBuffer_Release(&view);
    for (Py_ssize_t i = 0; i < count; i++)
        good &= isfinite(out[i]) && fabs(out[i]) < 1e9;
    if (!good)
        PyErr_SetString(PyExc_ValueError, "the numbers of a joint must be finite and below 1e9");
    return good;
}

/* Find the bodies, and check that at least one of both links can move. Returns 0 with an exception
 * set. */
static int connection_find(const World *world, Connection *to)
{
    int movable = 0;
    for (int i = 0; i < 2; i++) {
        int index = body_find(world, to->made.body[i]);
        if (index < 0)
            return 0;
        to->bodies[i] = world->bodies[index];
        if (to->links[i] < 0 || to->links[i] >= to->bodies[i]->links) {
            PyErr_Format(PyExc_ValueError, "no link %d", to->links[i]);
            return 0;
        }
        movable |= to->bodies[i]->link_group[to->links[i]] >= 0;
    }
    if (!movable || to->bodies[0] == to->bodies[1] || to->kind < LOOP_BALL || to->kind > LOOP_Z)
        PyErr_SetString(PyExc_ValueError, "a joint needs links of two bodies, one of which can "
                                          "move, and one of the kinds of extra joints");
    return !PyErr_Occurred();
}

/* add_joint(kind, id, link, R, p, id, link, R, p, axis) */
PyObject *world_add_joint(World *world, PyObject *args)
{
    Connection to = {.kind = 0};
    PyObject *R[2], *p[2], *axis;
    if (!PyArg_ParseTuple(args, "iliOOliOOO", &to.kind, &to.made.body[0], &to.links[0], &R[0],
                          &p[0], &to.made.body[1], &to.links[1], &R[1], &p[1], &axis))
        return NULL;
    for (int i = 0; i < 2; i++)
        if (!reals_fetch(R[i], 9, to.frames[i].R) || !reals_fetch(p[i], 3, to.frames[i].p))
            return NULL;
    if (!reals_fetch(axis, 3, to.axis) || !world_usable(world) || !connection_find(world, &to))
        return NULL;
    BodyJoint *grown = realloc(world->body_joints,
                               sizeof(BodyJoint) * (size_t)(world->body_joint_count + 1));
    if (!grown)
        return PyErr_NoMemory();
    world->body_joints = grown;
    if (!ode_run_or_raise(world, connect, &to))
        return NULL;
    to.made.id = world->next_body_joint++;
    world->body_joints[world->body_joint_count++] = to.made;
    system_outdate(world);
    return PyLong_FromLong(to.made.id);
}

/* Remove a joint by its index; an OdeWork. */
static void disconnect(World *world, void *index)
{
    joint_destroy(world, *(const int *)index);
}

/* remove_joint(id) */
PyObject *world_remove_joint(World *world, PyObject *argument)
{
    long id = PyLong_AsLong(argument);
    if ((id == -1 && PyErr_Occurred()) || !world_usable(world))
        return NULL;
    for (int i = 0; i < world->body_joint_count; i++)
        if (world->body_joints[i].id == id) {
            if (!ode_run_or_raise(world, disconnect, &i))
                return NULL;
            system_outdate(world);
            Py_RETURN_NONE;
        }
    return PyErr_Format(PyExc_KeyError, "no joint %ld between bodies", id);
}
