/* Pairs of links whose contacts ODE failed to find in the last call of step. */
#include "_core.h"

/* Discard the pairs of the last call. */
void failed_pairs_clear(World *world)
{
    world->failed_count = 0;
}

/* Record a pair, once. It is left out when memory is short. */
void failed_pairs_append(World *world, const Body *a, int link_a, const Body *b, int link_b)
{
    for (int i = 0; i < world->failed_count; i++) {
        const FailedPair *pair = &world->failed[i];
        if (pair->body[0] == a->id && pair->link[0] == link_a && pair->body[1] == b->id &&
            pair->link[1] == link_b)
            return;
    }
    if (world->failed_count == world->failed_capacity) {
        int capacity = 2 * world->failed_capacity + 16;
        FailedPair *failed = realloc(world->failed, (size_t)capacity * sizeof *failed);
        if (!failed)
            return;
        world->failed = failed;
        world->failed_capacity = capacity;
    }
    world->failed[world->failed_count++] = (FailedPair){{a->id, b->id}, {link_a, link_b}};
}

void failed_pairs_free(World *world)
{
    free(world->failed);
    world->failed = NULL;
    world->failed_count = world->failed_capacity = 0;
}

/* Return (body, link, body, link) of each pair. */
PyObject *world_read_failed_pairs(World *world, PyObject *Py_UNUSED(none))
{
    if (!world_ready(world))
        return NULL;
    PyObject *list = PyList_New(world->failed_count);
    for (int i = 0; list && i < world->failed_count; i++) {
        const FailedPair *pair = &world->failed[i];
        PyObject *item = Py_BuildValue("(lili)", pair->body[0], pair->link[0], pair->body[1],
                                       pair->link[1]);
        if (item)
            PyList_SET_ITEM(list, i, item);
        else
            Py_CLEAR(list);
    }
    return list;
}
