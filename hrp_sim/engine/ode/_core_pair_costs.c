/* Times of collision detection by pair, measured while World.record_pair_costs is set. */
#include "_core.h"

#include <time.h>

/* Discard the times of the last attempt at a step. */
void pair_costs_clear(World *world)
{
    world->pair_cost_count = 0;
}

/* Return the current time in [s], or 0 if costs are not recorded. */
double pair_costs_start(const World *world)
{
    struct timespec now;
    if (!world->record_pair_costs)
        return 0.0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Record a pair that was examined since a time of pair_costs_start. It is left out when memory is
 * short. */
void pair_costs_append(World *world, const Body *a, int link_a, const Body *b, int link_b,
                       double start)
{
    if (!world->record_pair_costs)
        return;
    if (world->pair_cost_count == world->pair_cost_capacity) {
        size_t capacity = 2 * world->pair_cost_capacity + 64;
        PairCost *costs = realloc(world->pair_costs, capacity * sizeof *costs);
        if (!costs)
            return;
        world->pair_costs = costs;
        world->pair_cost_capacity = capacity;
    }
    world->pair_costs[world->pair_cost_count++] =
        (PairCost){{a->id, b->id}, {link_a, link_b}, pair_costs_start(world) - start};
}

void pair_costs_free(World *world)
{
    free(world->pair_costs);
    world->pair_costs = NULL;
    world->pair_cost_count = world->pair_cost_capacity = 0;
}

PyObject *world_get_record_pair_costs(World *world, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(world->record_pair_costs);
}

int world_set_record_pair_costs(World *world, PyObject *value, void *Py_UNUSED(closure))
{
    int enabled = value ? PyObject_IsTrue(value) : -1;
    if (!value)
        PyErr_SetString(PyExc_TypeError, "record_pair_costs cannot be deleted");
    if (enabled < 0 || !world_ready(world))
        return -1;
    world->record_pair_costs = enabled;
    pair_costs_clear(world);
    return 0;
}

/* Return (body, link, body, link, seconds) of each pair that the last step examined; a pair may be
 * listed more than once. */
PyObject *world_read_pair_costs(World *world, PyObject *Py_UNUSED(none))
{
    if (!world_ready(world))
        return NULL;
    PyObject *list = PyList_New((Py_ssize_t)world->pair_cost_count);
    for (size_t k = 0; list && k < world->pair_cost_count; k++) {
        const PairCost *cost = &world->pair_costs[k];
        PyObject *item = Py_BuildValue("(lilid)", cost->body[0], cost->link[0], cost->body[1],
                                       cost->link[1], cost->seconds);
        if (item)
            PyList_SET_ITEM(list, (Py_ssize_t)k, item);
        else
            Py_CLEAR(list);
    }
    return list;
}
