/* Methods of World that put a body somewhere, or tell where it is. */
#include "_core.h"

/* Return the place of a body among the others, or -1 with an exception set. */
int body_find(const World *world, long id)
{
    for (int i = 0; i < world->count; i++)
        if (world->bodies[i]->id == id)
            return i;
    PyErr_Format(PyExc_KeyError, "no body %ld", id);
    return -1;
}

static PyObject *world_place(World *world, PyObject *args, int rebase)
{
    PyObject *articulation;
    long id;
    int i, placed = 0;
    Flat flat;
    if (!PyArg_ParseTuple(args, "lO", &id, &articulation) || !world_whole(world) ||
        (i = body_find(world, id)) < 0)
        return NULL;
    if (flat_fetch(&flat, articulation, world->materials) == 0 && body_is_like(world->bodies[i], &flat)) {
        if (rebase)
            body_rebase(world, world->bodies[i], &flat);
        else
            body_move(world->bodies[i], &flat);
        placed = 1;
    }
    flat_release(&flat);
    return placed ? Py_NewRef(Py_None) : NULL;
}

/* rebase_body(id, articulation) */
PyObject *world_rebase_body(World *world, PyObject *args)
{
    return world_place(world, args, 1);
}

/* move_body(id, articulation) */
PyObject *world_move_body(World *world, PyObject *args)
{
    return world_place(world, args, 0);
}

static PyObject *world_transfer(World *world, PyObject *args, int writes)
{
    PyObject *arrays;
    long id;
    int i, done = 0;
    Saved saved;
    /* What ODE left in the middle of a step is in the state before it, and may be kept. */
    if (!PyArg_ParseTuple(args, "lO", &id, &arrays) ||
        !(writes ? world_whole(world) : world_ready(world)) || (i = body_find(world, id)) < 0)
        return NULL;
    if (saved_fetch(world->bodies[i], arrays, !writes, &saved) == 0) {
        if (writes) {
            done = saved_write(world->bodies[i], &saved);
        } else {
            saved_read(world->bodies[i], &saved);
            done = 1;
        }
    }
    saved_release(&saved);
    return done ? Py_NewRef(Py_None) : NULL;
}

/* read_state(id, arrays) */
PyObject *world_read_state(World *world, PyObject *args)
{
    return world_transfer(world, args, 0);
}

/* write_state(id, arrays) */
PyObject *world_write_state(World *world, PyObject *args)
{
    return world_transfer(world, args, 1);
}
