/* Methods of World that add, remove and move bodies and joints between them, and read and write
 * states. */
#include "module_bodies.h"
#include "body.h"
#include "bounds.h"
#include "collide.h"
#include "exact.h"
#include "loops.h"
#include "memory.h"
#include "sleep.h"
#include "state.h"

#include <math.h>

/* Return a body, or NULL with an exception set. */
static Body *body_find(const World *world, long id)
{
    Body *body = hrp_body_of(world, id);
    if (!body)
        PyErr_Format(PyExc_KeyError, "no body %ld", id);
    return body;
}

/* Reserve memory for one more body. */
static int bodies_grow(World *world)
{
    const size_t size = sizeof(Body *) * (size_t)(world->count + 1);
    Body **grown = realloc(world->bodies, size);
    if (grown)
        world->bodies = grown;
    Body **awake = realloc(world->awake, size);
    if (awake)
        world->awake = awake;
    if (!grown || !awake)
        PyErr_NoMemory();
    return grown && awake;
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
    if (hrp_body_create(world, body, addition->flat)) {
        hrp_body_record_start(body);
        addition->added =
            hrp_overlaps_disable(world, body, &addition->overlapping) && !world->interrupt;
    }
    if (addition->added)
        hrp_disturb_near(world, body);
    else
        hrp_body_destroy(body);
}

/* Return the result of add_body. */
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

/* Hold the arrays of a body by its id. */
static int arrays_keep(WorldObject *object, long id, PyObject *views)
{
    PyObject *key = PyLong_FromLong(id);
    int good = key && PyDict_SetItem(object->arrays, key, views) == 0;
    Py_XDECREF(key);
    return good;
}

static void arrays_drop(WorldObject *object, long id)
{
    PyObject *key = PyLong_FromLong(id);
    if (!key || PyDict_DelItem(object->arrays, key))
        PyErr_Clear();
    Py_XDECREF(key);
}

PyObject *hrp_object_add_body(WorldObject *object, PyObject *args)
{
    World *world = &object->world;
    PyObject *articulation, *motion, *drive, *wrench, *views = NULL, *result = NULL;
    Addition addition = {0};
    Flat flat;
    Py_buffer buffers[FLAT_FIELDS];
    Held held = {buffers, 0};
    if (!PyArg_ParseTuple(args, "OOOO", &articulation, &motion, &drive, &wrench) ||
        !hrp_object_usable(object))
        return NULL;
    if (hrp_flat_hold(&flat, articulation, world->materials, &held)) {
        addition = (Addition){.body = hrp_body_new(&flat), .flat = &flat};
        if (!addition.body)
            PyErr_NoMemory();
    }
    if (addition.body)
        views = hrp_live_hold(addition.body, motion, drive, wrench);
    /* Reading Python objects may have let another thread close the world. */
    if (views && hrp_object_usable(object) && bodies_grow(world) &&
        arrays_keep(object, world->next_id, views) && hrp_object_run(object, body_add, &addition)) {
        if (addition.added) {
            hrp_system_outdate(world);
            addition.body->id = world->next_id++;
            world->bodies[world->count++] = addition.body;
            hrp_awake_list(world);
            result = addition_result(&addition);
        } else if (!world->interrupt) {
            PyErr_NoMemory();
        } else if (!PyErr_Occurred()) { /* else a signal handler raised it */
            PyErr_SetString(PyExc_RuntimeError, "interrupted");
        }
    }
    hrp_held_release(&held);
    free(addition.overlapping.pairs);
    Py_XDECREF(views);
    if (!addition.added)
        hrp_body_free(addition.body);
    return result;
}

/* Remove a body from ODE; an OdeWork. */
static void body_remove(World *world, void *body)
{
    hrp_body_joints_remove(world, body);
    hrp_disturb(world, body);
    hrp_memory_forget(world, body);
    hrp_body_destroy(body);
}

PyObject *hrp_object_remove_body(WorldObject *object, PyObject *argument)
{
    World *world = &object->world;
    long id = PyLong_AsLong(argument);
    if ((id == -1 && PyErr_Occurred()) || !hrp_object_usable(object))
        return NULL;
    Body *body = body_find(world, id);
    if (!body || !hrp_object_run(object, body_remove, body))
        return NULL;
    hrp_system_outdate(world);
    int kept = 0;
    for (int i = 0; i < world->count; i++)
        if (world->bodies[i] != body)
            world->bodies[kept++] = world->bodies[i];
    world->count = kept;
    hrp_awake_list(world);
    hrp_body_free(body);
    arrays_drop(object, id);
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
    hrp_body_joints_remove(world, to->body);
    hrp_body_wake(world, to->body);
    hrp_body_move(to->body, to->flat);
}

/* Likewise, and move its static links; an OdeWork. */
static void rebase(World *world, void *arguments)
{
    const Move *to = arguments;
    hrp_body_joints_remove(world, to->body);
    hrp_disturb(world, to->body);
    hrp_body_rebase(world, to->body, to->flat);
    hrp_bounds_place(to->body, 0.0);
    hrp_disturb_near(world, to->body);
}

static PyObject *world_place(WorldObject *object, PyObject *args, OdeWork *work)
{
    World *world = &object->world;
    PyObject *articulation;
    long id;
    int placed = 0;
    Flat flat;
    Py_buffer buffers[FLAT_FIELDS];
    Held held = {buffers, 0};
    Body *body;
    if (!PyArg_ParseTuple(args, "lO", &id, &articulation) || !hrp_object_usable(object))
        return NULL;
    /* Reading Python objects may let another thread change the world, so check it afterwards. */
    if (hrp_flat_hold(&flat, articulation, world->materials, &held) && hrp_object_usable(object) &&
        (body = body_find(world, id))) {
        if (hrp_body_matches(body, &flat))
            placed = hrp_object_run(object, work, &(Move){body, &flat});
        else
            PyErr_SetString(PyExc_ValueError, "the articulation belongs to another body");
    }
    hrp_system_outdate(world);
    hrp_held_release(&held);
    return placed ? Py_NewRef(Py_None) : NULL;
}

PyObject *hrp_object_rebase_body(WorldObject *object, PyObject *args)
{
    return world_place(object, args, rebase);
}

PyObject *hrp_object_move_body(WorldObject *object, PyObject *args)
{
    return world_place(object, args, move);
}

typedef struct {
    Body *body;
    const Saved *saved;
} Transfer;

/* Copy the state of a body into arrays; an OdeWork. */
static void read_into(World *Py_UNUSED(world), void *arguments)
{
    const Transfer *transfer = arguments;
    hrp_saved_read(transfer->body, transfer->saved);
}

/* Set the state of a body from arrays; an OdeWork. */
static void write_from(World *Py_UNUSED(world), void *arguments)
{
    const Transfer *transfer = arguments;
    hrp_saved_write(transfer->body, transfer->saved);
}

static PyObject *world_transfer(WorldObject *object, PyObject *args, int writes)
{
    PyObject *arrays;
    long id;
    int done = 0;
    Saved saved;
    Py_buffer buffers[SAVED_FIELDS];
    Held held = {buffers, 0};
    Body *body;
    /* A broken world is in the state before the failed step, which may be saved. */
    int (*usable)(const WorldObject *) = writes ? hrp_object_usable : hrp_object_ready;
    if (!PyArg_ParseTuple(args, "lO", &id, &arrays) || !usable(object) ||
        !(body = body_find(&object->world, id)))
        return NULL;
    if (hrp_saved_hold(body, arrays, !writes, &saved, &held)) {
        if (writes && !hrp_saved_is_finite(body, &saved))
            PyErr_SetString(PyExc_ValueError, "a saved state must be finite");
        /* As above: find the body again after reading Python objects. */
        else if (usable(object) && (body = body_find(&object->world, id)))
            done =
                hrp_object_run(object, writes ? write_from : read_into, &(Transfer){body, &saved});
    }
    hrp_held_release(&held);
    return done ? Py_NewRef(Py_None) : NULL;
}

PyObject *hrp_object_read_state(WorldObject *object, PyObject *args)
{
    return world_transfer(object, args, 0);
}

PyObject *hrp_object_write_state(WorldObject *object, PyObject *args)
{
    return world_transfer(object, args, 1);
}

/* Read or write the state of sleep: (bodies, 6), (contacts, 4 + MEMORY_NUMBERS) and (contacts,
 * 10). */
static PyObject *sleep_transfer(WorldObject *object, PyObject *args, int writes)
{
    World *world = &object->world;
    PyObject *objects[3], *result = NULL;
    Py_buffer views[3];
    Held held = {views, 0};
    static const int widths[] = {REST_NUMBERS, SLEEPER_NUMBERS, 10};
    if (!PyArg_ParseTuple(args, "OOO", &objects[0], &objects[1], &objects[2]) ||
        !hrp_object_ready(object))
        return NULL;
    const Py_ssize_t contacts = writes ? PyObject_Length(objects[1]) : world->sleeper_count;
    if (contacts < 0)
        return NULL;
    for (; held.count < 3; held.count++)
        if (!hrp_array_hold(objects[held.count], NULL, held.count < 2 ? 'i' : 'd',
                            widths[held.count] * (held.count ? contacts : world->count), !writes,
                            &views[held.count]))
            break;
    if (held.count == 3 && hrp_object_ready(object)) {
        result = Py_NewRef(Py_None);
        if (!writes)
            hrp_sleep_read(world, views[0].buf, views[1].buf, views[2].buf);
        else if (contacts > MAX_CONTACTS || !hrp_sleep_write(world, views[0].buf, views[1].buf,
                                                             views[2].buf, (int)contacts)) {
            Py_CLEAR(result);
            PyErr_SetString(PyExc_ValueError, "invalid contacts of bodies that sleep");
        }
    }
    hrp_held_release(&held);
    return result;
}

PyObject *hrp_object_read_sleep(WorldObject *object, PyObject *args)
{
    return sleep_transfer(object, args, 0);
}

PyObject *hrp_object_write_sleep(WorldObject *object, PyObject *args)
{
    return sleep_transfer(object, args, 1);
}

/* Copy count finite numbers of an array. */
static int reals_read(PyObject *array, Py_ssize_t count, dReal *out)
{
    Py_buffer view;
    int good = 1;
    if (!hrp_array_hold(array, NULL, 'd', count, 0, &view))
        return 0;
    memcpy(out, view.buf, sizeof(dReal) * (size_t)count);
    PyBuffer_Release(&view);
    for (Py_ssize_t i = 0; i < count; i++)
        good &= isfinite(out[i]) && fabs(out[i]) < 1e9;
    if (!good)
        PyErr_SetString(PyExc_ValueError, "the numbers of a joint must be finite and below 1e9");
    return good;
}

/* Find the bodies, and check that at least one of both links can move. */
static int connection_find(const World *world, Connection *to, const long ids[2])
{
    int movable = 0;
    for (int i = 0; i < 2; i++) {
        to->bodies[i] = body_find(world, ids[i]);
        if (!to->bodies[i])
            return 0;
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

PyObject *hrp_object_add_joint(WorldObject *object, PyObject *args)
{
    World *world = &object->world;
    Connection to = {.kind = 0};
    PyObject *R[2], *p[2], *axis;
    long ids[2];
    if (!PyArg_ParseTuple(args, "iliOOliOOO", &to.kind, &ids[0], &to.links[0], &R[0], &p[0],
                          &ids[1], &to.links[1], &R[1], &p[1], &axis))
        return NULL;
    for (int i = 0; i < 2; i++)
        if (!reals_read(R[i], 9, to.frames[i].R) || !reals_read(p[i], 3, to.frames[i].p))
            return NULL;
    if (!reals_read(axis, 3, to.axis) || !hrp_object_usable(object) ||
        !connection_find(world, &to, ids))
        return NULL;
    if (!hrp_body_joints_reserve(world))
        return PyErr_NoMemory();
    if (!hrp_object_run(object, hrp_body_joint_create, &to))
        return NULL;
    hrp_system_outdate(world);
    return PyLong_FromLong(world->body_joints[world->body_joint_count - 1].id);
}

PyObject *hrp_object_remove_joint(WorldObject *object, PyObject *argument)
{
    World *world = &object->world;
    long id = PyLong_AsLong(argument);
    if ((id == -1 && PyErr_Occurred()) || !hrp_object_usable(object))
        return NULL;
    for (int i = 0; i < world->body_joint_count; i++)
        if (world->body_joints[i].id == id) {
            if (!hrp_object_run(object, hrp_body_joint_remove, &i))
                return NULL;
            hrp_system_outdate(world);
            Py_RETURN_NONE;
        }
    return PyErr_Format(PyExc_KeyError, "no joint %ld between bodies", id);
}
