/* Records of contact points and forces, made while World.record_contacts is set. */
#include "_core.h"

#include <string.h>

/* Reserve memory for one more record. Returns 0 when memory is short. */
static int records_reserve(World *world)
{
    if (world->record_count < world->record_capacity)
        return 1;
    int capacity = 2 * world->record_capacity + 64;
    ContactRecord *records = realloc(world->records, (size_t)capacity * sizeof *records);
    if (!records)
        return 0;
    world->records = records;
    world->record_capacity = capacity;
    return 1;
}

/* Discard the records of the last attempt at a step. */
void records_clear(World *world)
{
    world->record_count = world->records_lost = 0;
}

/* Record a contact whose joint was just created. */
void records_append(World *world, const ContactRecord *contact)
{
    if (!records_reserve(world)) {
        world->records_lost = 1;
        return;
    }
    world->records[world->record_count] = *contact;
    world->records[world->record_count++].touch = touch_number(world);
}

/* Request force feedback for all recorded contacts, whose addresses no longer change. */
void records_request_forces(World *world)
{
    for (int i = 0; i < world->record_count; i++) {
        ContactRecord *record = &world->records[i];
        if (record->joint)
            dJointSetFeedback(record->joint, &record->feedback);
    }
}

/* Read the forces before the contact joints are destroyed. ODE reports the force on the joint's
 * first body: that of the first shape, unless that shape is fixed to the world. */
void records_read_forces(World *world)
{
    for (int i = 0; i < world->record_count; i++) {
        ContactRecord *record = &world->records[i];
        dReal force[3];
        if (record->joint)
            memcpy(force, dJointGetFeedback(record->joint)->f1, sizeof force);
        else
            touch_force(world, record->touch, force);
        for (int k = 0; k < 3; k++)
            record->force[k] = record->is_first ? force[k] : -force[k];
    }
}

void records_free(World *world)
{
    free(world->records);
    world->records = NULL;
    world->record_count = world->record_capacity = 0;
}

PyObject *world_get_record_contacts(World *world, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(world->record_contacts);
}

int world_set_record_contacts(World *world, PyObject *value, void *Py_UNUSED(closure))
{
    int enabled = value ? PyObject_IsTrue(value) : -1;
    if (enabled < 0) {
        if (!value)
            PyErr_SetString(PyExc_TypeError, "record_contacts cannot be deleted");
        return -1;
    }
    if (!world_ready(world))
        return -1;
    world->record_contacts = enabled;
    records_clear(world);
    return 0;
}

PyObject *world_recorded_contacts(World *world, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(world->record_count);
}

static void record_write(const ContactRecord *record, int *ids, double *values)
{
    for (int side = 0; side < 2; side++) {
        ids[2 * side] = (int)record->body[side];
        ids[2 * side + 1] = record->link[side];
    }
    for (int k = 0; k < 3; k++) {
        values[k] = record->p[k];
        values[3 + k] = record->normal[k];
        values[6 + k] = record->force[k];
    }
    values[9] = record->depth;
}

/* Write per contact: body and link of both sides (4), and point, normal, force and depth (10). */
PyObject *world_read_contacts(World *world, PyObject *args)
{
    PyObject *objects[2];
    Py_buffer ids, values;
    if (!PyArg_ParseTuple(args, "OO", &objects[0], &objects[1]) || !world_ready(world))
        return NULL;
    if (world->records_lost)
        return PyErr_NoMemory();
    if (fetch_array(objects[0], NULL, 'i', 4 * (Py_ssize_t)world->record_count, 1, &ids))
        return NULL;
    if (fetch_array(objects[1], NULL, 'd', 10 * (Py_ssize_t)world->record_count, 1, &values)) {
        PyBuffer_Release(&ids);
        return NULL;
    }
    for (int i = 0; i < world->record_count; i++)
        record_write(&world->records[i], (int *)ids.buf + 4 * i, (double *)values.buf + 10 * i);
    PyBuffer_Release(&values);
    PyBuffer_Release(&ids);
    Py_RETURN_NONE;
}
