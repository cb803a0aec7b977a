/* What a world tells of its contacts, to who asked for it before the step. */
#include "_core.h"

/* Make room for one more; returns 0 without memory. */
static int make_room(World *world)
{
    if (world->told_count < world->told_room)
        return 1;
    int room = 2 * world->told_room + 64;
    Told *told = realloc(world->told, (size_t)room * sizeof *told);
    if (!told)
        return 0;
    world->told = told;
    world->told_room = room;
    return 1;
}

/* Forget the contacts of the take before: those of the next one are made. */
void told_begin(World *world)
{
    world->told_count = world->told_lost = 0;
}

/* Keep a contact that has just been made, of which somebody wants to know. */
void told_add(World *world, const Told *contact)
{
    if (!make_room(world)) {
        world->told_lost = 1;
        return;
    }
    world->told[world->told_count++] = *contact;
}

/* Have ODE tell the forces of all contacts that were kept, which stay where they are from now on.
 * Of those that stick it tells them already. */
void told_ask(World *world)
{
    for (int i = 0; i < world->told_count; i++) {
        Told *told = &world->told[i];
        if (!dJointGetFeedback(told->joint))
            dJointSetFeedback(told->joint, &told->feedback);
    }
}

/* Take in what ODE tells, before the joints of the contacts go. It is the force on the joint's first
 * body: that of the first shape, unless that one stands still. */
void told_take(World *world)
{
    for (int i = 0; i < world->told_count; i++) {
        Told *told = &world->told[i];
        const dJointFeedback *feedback = dJointGetFeedback(told->joint);
        for (int k = 0; k < 3; k++)
            told->force[k] = told->is_first ? feedback->f1[k] : -feedback->f1[k];
    }
}

void told_free(World *world)
{
    free(world->told);
    world->told = NULL;
    world->told_count = world->told_room = 0;
}

PyObject *world_tells(World *world, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(world->tells);
}

int world_set_tells(World *world, PyObject *value, void *Py_UNUSED(closure))
{
    int tells = value ? PyObject_IsTrue(value) : -1;
    if (tells < 0) {
        if (!value)
            PyErr_SetString(PyExc_TypeError, "tells cannot be deleted");
        return -1;
    }
    if (!world_ready(world))
        return -1;
    world->tells = tells;
    told_begin(world);
    return 0;
}

PyObject *world_told(World *world, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(world->told_count);
}

static void told_write(const Told *told, int *who, double *what)
{
    for (int side = 0; side < 2; side++) {
        who[2 * side] = (int)told->body[side];
        who[2 * side + 1] = told->link[side];
    }
    for (int k = 0; k < 3; k++) {
        what[k] = told->p[k];
        what[3 + k] = told->normal[k];
        what[6 + k] = told->force[k];
    }
    what[9] = told->depth;
}

/* Write body and link of both sides, 4 numbers each; and point, normal, force and depth, 10 each. */
PyObject *world_read_contacts(World *world, PyObject *args)
{
    PyObject *objects[2];
    Py_buffer who, what;
    if (!PyArg_ParseTuple(args, "OO", &objects[0], &objects[1]) || !world_ready(world))
        return NULL;
    if (world->told_lost)
        return PyErr_NoMemory();
    if (fetch_array(objects[0], NULL, 'i', 4 * (Py_ssize_t)world->told_count, 1, &who))
        return NULL;
    if (fetch_array(objects[1], NULL, 'd', 10 * (Py_ssize_t)world->told_count, 1, &what)) {
        PyBuffer_Release(&who);
        return NULL;
    }
    for (int i = 0; i < world->told_count; i++)
        told_write(&world->told[i], (int *)who.buf + 4 * i, (double *)what.buf + 10 * i);
    PyBuffer_Release(&what);
    PyBuffer_Release(&who);
    Py_RETURN_NONE;
}
