/* Methods of World that add, remove and move bodies, and read and write their states. */
#include "_core.h"

/* Return the index of a body, or -1 with an exception set. */
int body_find(const World *world, long id)
{
    for (int i = 0; i < world->count; i++)
        if (world->bodies[i]->id == id)
            return i;
    PyErr_Format(PyExc_KeyError, "no body %ld", id);
    return -1;
}

/* Reserve memory for one more body. Returns 0 with an exception set. */
static int bodies_grow(World *world)
{
    Body **grown = realloc(world->bodies, sizeof(Body *) * (size_t)(world->count + 1));
    if (grown)
        world->bodies = grown;
    else
        PyErr_NoMemory();
    return grown != NULL;
}

typedef struct {
    Body *body;
    const Flat *flat;
    LinkNumbers overlapping;
    int added;
} Addition;

/* Create a body in ODE in its initial state; an OdeWork. */
static void body_add(World *world, void *arguments)
{
    Addition *addition = arguments;
    Body *body = addition->body;
    if (body_create(world, body, addition->flat)) {
        body_record_start(body);
        addition->added =
            overlaps_disable(world, body, &addition->overlapping) && !world->interrupt;
    }
    if (!addition->added)
        body_destroy(body);
}

/* Return the result of add_body, or NULL with an exception set. */
static PyObject *addition_result(const Addition *addition)
{
    PyObject *pairs = PyList_New(addition->overlapping.count);
    for (int i = 0; pairs && i < addition->overlapping.count; i++) {
        const int *links = addition->overlapping.pairs[i];
        PyObject *pair = Py_BuildValue("(ii)", links[0], links[1]);
        if (pair)
            PyList_SET_ITEM(pairs, i, pair);
        else
            Py_CLEAR(pairs);
    }
    return pairs ? Py_BuildValue("(lN)", addition->body->id, pairs) : NULL;
}

/* add_body(articulation, motion, drive, wrench) */
PyObject *world_add_body(World *world, PyObject *args)
{
    PyObject *articulation, *motion, *drive, *wrench, *result = NULL;
    Addition addition = {0};
    Flat flat = {.held = 0};
    if (!PyArg_ParseTuple(args, "OOOO", &articulation, &motion, &drive, &wrench) ||
        !world_usable(world))
        return NULL;
    if (flat_fetch(&flat, articulation, world->materials) == 0)
        addition = (Addition){.body = body_new(&flat), .flat = &flat};
    /* Reading Python objects may have let another thread close the world. */
    if (addition.body && live_fetch(addition.body, motion, drive, wrench) == 0 &&
        world_usable(world) && bodies_grow(world) &&
        ode_run_or_raise(world, body_add, &addition)) {
        if (addition.added) {
            system_outdate(world);
            addition.body->id = world->next_id++;
            world->bodies[world->count++] = addition.body;
            result = addition_result(&addition);
        } else if (!world->interrupt) {
            PyErr_NoMemory();
        } else if (!PyErr_Occurred()) { /* else a signal handler raised it */
            PyErr_SetString(PyExc_RuntimeError, "interrupted");
        }
    }
    flat_release(&flat);
    free(addition.overlapping.pairs);
    if (!addition.added)
        body_free(addition.body);
    return result;
}

/* Remove a body from ODE; an OdeWork. */
static void body_remove(World *world, void *body)
{
    body_joints_remove(world, body);
    body_destroy(body);
}

/* remove_body(id) */
PyObject *world_remove_body(World *world, PyObject *argument)
{
    long id = PyLong_AsLong(argument);
    if ((id == -1 && PyErr_Occurred()) || !world_usable(world))
        return NULL;
    int i = body_find(world, id);
    if (i < 0 || !ode_run_or_raise(world, body_remove, world->bodies[i]))
        return NULL;
    system_outdate(world);
    body_free(world->bodies[i]);
    world->count--;
    for (int k = i; k < world->count; k++)
        world->bodies[k] = world->bodies[k + 1];
    Py_RETURN_NONE;
}

typedef struct {
    Body *body;
    const Flat *flat;
} Move;

/* Move groups and joints of a body to where an articulation starts; an OdeWork. */
static void move(World *world, void *arguments)
{
    const Move *to = arguments;
    body_joints_remove(world, to->body);
    body_move(to->body, to->flat);
}

/* Likewise, and move its static links; an OdeWork. */
static void rebase(World *world, void *arguments)
{
    const Move *to = arguments;
    body_joints_remove(world, to->body);
    body_rebase(world, to->body, to->flat);
}

static PyObject *world_place(World *world, PyObject *args, OdeWork *work)
{
    PyObject *articulation;
    long id;
    int i, placed = 0;
    Flat flat;
    if (!PyArg_ParseTuple(args, "lO", &id, &articulation) || !world_usable(world))
        return NULL;
    /* Reading Python objects may let another thread change the world, so check it afterwards. */
    if (flat_fetch(&flat, articulation, world->materials) == 0 && world_usable(world) &&
        (i = body_find(world, id)) >= 0 && body_matches(world->bodies[i], &flat))
        placed = ode_run_or_raise(world, work, &(Move){world->bodies[i], &flat});
    system_outdate(world);
    flat_release(&flat);
    return placed ? Py_NewRef(Py_None) : NULL;
}

/* rebase_body(id, articulation) */
PyObject *world_rebase_body(World *world, PyObject *args)
{
    return world_place(world, args, rebase);
}

/* move_body(id, articulation) */
PyObject *world_move_body(World *world, PyObject *args)
{
    return world_place(world, args, move);
}

typedef struct {
    Body *body;
    const Saved *saved;
} Transfer;

/* Copy the state of a body into arrays; an OdeWork. */
static void read_into(World *Py_UNUSED(world), void *arguments)
{
    const Transfer *transfer = arguments;
    saved_read(transfer->body, transfer->saved);
}

/* Set the state of a body from arrays; an OdeWork. */
static void write_from(World *Py_UNUSED(world), void *arguments)
{
    const Transfer *transfer = arguments;
    saved_write(transfer->body, transfer->saved);
}

static PyObject *world_transfer(World *world, PyObject *args, int writes)
{
    PyObject *arrays;
    long id;
    int i, done = 0;
    Saved saved;
    /* A broken world is in the state before the failed step, which may be saved. */
    int (*usable)(World *) = writes ? world_usable : world_ready;
    if (!PyArg_ParseTuple(args, "lO", &id, &arrays) || !usable(world) ||
        (i = body_find(world, id)) < 0)
        return NULL;
    /* As above: find the body again after reading Python objects. */
    if (saved_fetch(world->bodies[i], arrays, !writes, &saved) == 0 &&
        (!writes || saved_check(&saved)) && usable(world) && (i = body_find(world, id)) >= 0)
        done = ode_run_or_raise(world, writes ? write_from : read_into,
                                &(Transfer){world->bodies[i], &saved});
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
