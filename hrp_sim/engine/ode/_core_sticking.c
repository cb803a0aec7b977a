/* Prediction of sticking contacts, which are solved without bounds, and what contacts leave to the
 * next step.
 *
 * dWorldStep solves all unbounded rows at once, but adds the bounded rows of contacts one by one,
 * each at the cost of a solve. A sticking contact needs no bounds: it is a ball joint whose force
 * pushes and lies within the friction cone. So contacts at rest are predicted to stick; if the
 * force of one disproves it, the step is repeated with a regular contact there. (The exact solver
 * only solves the island again, see _core_newton.c.) The motion is the solution of the same problem.
 * Where redundant contacts can share a force in many ways, this one shares it evenly, whereas
 * dWorldStep's leaves some corners without force and makes stacks fall.
 */
#include "_core.h"

#include <math.h>
#include <string.h>

#define MAX_REST_SPEED 0.01 /* [m/s], about what gravity adds in a step */
#define MIN_SOFTNESS 1e-13  /* cfm / h relative to 1 / mass: above rounding errors */
#define MAX_BACKOFF 127     /* in steps */
#define MAX_ATTEMPTS 3      /* of dWorldStep at a step, before prediction is disabled for it */

/* Reserve memory for contacts, zero-initialized. Returns 0 when memory is short. */
static int candidates_reserve(World *world, int capacity)
{
    if (capacity <= world->candidate_capacity)
        return 1;
    size_t old = (size_t)world->candidate_capacity, size = (size_t)capacity;
    ContactMemory *memory = realloc(world->memory, size * sizeof *memory);
    if (memory)
        world->memory = memory;
    ContactMemory *before = realloc(world->memory_before, size * sizeof *before);
    if (before)
        world->memory_before = before;
    if (!memory || !before)
        return 0;
    if (world->system) {
        if (!memory_table_reserve(world, capacity))
            return 0;
    } else {
        StickCandidate *candidates = realloc(world->candidates, size * sizeof *candidates);
        if (!candidates)
            return 0;
        world->candidates = candidates;
    }
    memset(memory + old, 0, (size - old) * sizeof *memory);
    world->candidate_capacity = capacity;
    return 1;
}

/* Return the number of candidates to track in the step after one with this many contacts. */
static int capacity_after(int candidate_count)
{
    return 2 * candidate_count + 64;
}

/* Return how many contacts of the last step were tracked. */
static int tracked_candidates(const World *world)
{
    int count = world->candidate_count, limit = world->candidate_limit;
    return count < limit ? count : limit;
}

/* Exchange the memories of this step and the last one. */
static void memories_swap(World *world)
{
    ContactMemory *before = world->memory_before;
    world->memory_before = world->memory;
    world->memory = before;
}

/* Reserve memory for the contacts of a step; those beyond it are regular ones. The number
 * depends on the last step alone, not on earlier ones, so that runs are repeatable. */
void sticking_begin(World *world)
{
    int capacity = capacity_after(world->candidate_count), tracked = tracked_candidates(world);
    world->sticking_disabled = 0;
    world->attempts = 0;
    world->candidate_count_before = world->candidate_count;
    if (!world->predict_sticking && !world->system)
        return;
    world->candidate_limit =
        candidates_reserve(world, capacity) ? capacity : world->candidate_capacity;
    if (world->system) {
        for (int i = tracked; i < tracked_candidates(world); i++)
            world->memory[i] = (ContactMemory){0};
        memories_swap(world);
        if (world->candidate_limit > 0)
            memory_table_fill(world, tracked);
    } else if (world->candidate_limit > 0) {
        memcpy(world->memory_before, world->memory,
               (size_t)world->candidate_limit * sizeof(ContactMemory));
    }
}

/* Undo the changes of a failed step. */
void sticking_restore(World *world)
{
    world->candidate_count = world->candidate_count_before;
    if (world->system)
        memories_swap(world);
    else if (world->candidate_limit > 0)
        memcpy(world->memory, world->memory_before,
               (size_t)world->candidate_limit * sizeof(ContactMemory));
}

/* Clear all back-offs, at the start of a run. */
void sticking_reset(World *world)
{
    world->candidate_count = 0;
    if (world->memory)
        memset(world->memory, 0, (size_t)world->candidate_capacity * sizeof *world->memory);
}

/* Free the memory of candidates and back-offs. */
void sticking_free(World *world)
{
    free(world->candidates);
    free(world->memory);
    free(world->memory_before);
    free(world->memory_table);
    world->candidates = NULL;
    world->memory = world->memory_before = NULL;
    world->memory_table = NULL;
    world->memory_table_size = 0;
    world->candidate_limit = world->candidate_capacity = world->candidate_count = 0;
}

/* Return the memory of each contact, as MEMORY_NUMBERS integers each. */
PyObject *world_get_contact_memory(World *world, void *Py_UNUSED(closure))
{
    if (!world_ready(world))
        return NULL;
    int tracked = tracked_candidates(world);
    size_t size = sizeof(ContactMemory) * (size_t)world->candidate_count;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (!bytes)
        return NULL;
    memset(PyBytes_AS_STRING(bytes), 0, size);
    if (tracked > 0)
        memcpy(PyBytes_AS_STRING(bytes), world->memory, sizeof(ContactMemory) * (size_t)tracked);
    return bytes;
}

/* Set what contact_memory returned before. */
int world_set_contact_memory(World *world, PyObject *value, void *Py_UNUSED(closure))
{
    char *bytes;
    Py_ssize_t size;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "contact_memory cannot be deleted");
        return -1;
    }
    if (PyBytes_AsStringAndSize(value, &bytes, &size) || !world_ready(world))
        return -1;
    if (size > (Py_ssize_t)sizeof(ContactMemory) * MAX_CONTACTS) {
        PyErr_Format(PyExc_ValueError, "contact_memory of more than %d contacts", MAX_CONTACTS);
        return -1;
    }
    int candidate_count = (int)(size / (Py_ssize_t)sizeof(ContactMemory));
    sticking_reset(world);
    if (!candidates_reserve(world, capacity_after(candidate_count))) {
        PyErr_NoMemory();
        return -1;
    }
    world->candidate_count = candidate_count;
    world->candidate_limit =
        world->predict_sticking || world->system ? capacity_after(candidate_count) : 0;
    memcpy(world->memory, bytes, sizeof(ContactMemory) * (size_t)candidate_count);
    return 0;
}

static int is_at_rest(const dReal p[3], dBodyID a, dBodyID b)
{
    dVector3 v = {0.0, 0.0, 0.0}, u = {0.0, 0.0, 0.0};
    if (a)
        dBodyGetPointVel(a, p[0], p[1], p[2], v);
    if (b)
        dBodyGetPointVel(b, p[0], p[1], p[2], u);
    for (int i = 0; i < 3; i++)
        v[i] -= u[i];
    return dot3(v, v) < MAX_REST_SPEED * MAX_REST_SPEED;
}

/* Whether cfm is large enough relative to 1 / mass: without it redundant joints have no unique
 * solution, and ODE's may be arbitrary. */
static int is_soft(const World *world, dBodyID a, dBodyID b)
{
    dReal softness = dWorldGetCFM(world->world) / world->step, lightest = dInfinity;
    dBodyID groups[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        dMass mass;
        if (!groups[i])
            continue;
        dBodyGetMass(groups[i], &mass);
        lightest = fmin(lightest, mass.mass);
    }
    return softness * lightest >= MIN_SOFTNESS;
}

/* Whether a contact may be predicted to stick. Track surfaces move and bouncing bodies separate, so
 * neither sticks. */
static int contact_may_stick(const World *world, const dContact *contact, dBodyID a, dBodyID b)
{
    return contact->surface.mode == dContactApprox1 && contact->surface.mu > 0.0 &&
           is_at_rest(contact->geom.pos, a, b) && is_soft(world, a, b);
}

/* Create a ball joint equivalent to a sticking contact. Its two anchors are apart by as much as
 * makes it separate the bodies at the speed that a contact of this depth would. */
static dJointID stick_joint_create(World *world, const dContactGeom *contact, const dReal normal[3],
                                   dBodyID a, dBodyID b)
{
    const dReal *p = contact->pos;
    dReal depth = contact->depth - dWorldGetContactSurfaceLayer(world->world);
    dReal rate = dWorldGetERP(world->world) / world->step;
    dReal speed = fmin(rate * depth, dWorldGetContactMaxCorrectingVel(world->world));
    dJointID joint = dJointCreateBall(world->world, world->contact_group);
    dJointAttach(joint, a, b);
    dJointSetBallAnchor(joint, p[0], p[1], p[2]);
    if (speed > 0.0) {
        dReal away[3], local[3];
        for (int i = 0; i < 3; i++)
            away[i] = p[i] + normal[i] * speed / rate;
        to_group_frame(local, b, away, 1);
        dJointSetBallAnchor2(joint, local[0], local[1], local[2]); /* in b's own frame */
    }
    return joint;
}

/* Whether the back-off of a contact allows to predict that it sticks. */
static int may_be_predicted(const World *world, int number)
{
    return world->predict_sticking && number < world->candidate_limit &&
           !world->sticking_disabled && world->memory[number].wait == 0;
}

/* Create the joint of a contact; the normal points into a. */
dJointID contact_joint_create(World *world, dContact *contact, dBodyID a, dBodyID b)
{
    int number = world->candidate_count++;
    StickCandidate *candidate = number < world->candidate_limit ? &world->candidates[number] : NULL;
    if (candidate) {
        candidate->sticks =
            may_be_predicted(world, number) && contact_may_stick(world, contact, a, b);
        candidate->friction = contact->surface.mu;
        const dReal into = a ? 1.0 : -1.0;
        for (int i = 0; i < 3; i++)
            candidate->normal[i] = into * contact->geom.normal[i];
    }
    if (candidate && candidate->sticks) {
        dJointID joint = stick_joint_create(world, &contact->geom, candidate->normal, a ? a : b,
                                            a ? b : NULL);
        dJointSetFeedback(joint, &candidate->feedback);
        return joint;
    }
    if (!(contact->surface.mode & dContactFDir1)) {
        dReal slip[3];
        free_slip(world, a, b, contact, slip);
        friction_align(world, slip, contact);
    }
    dJointID joint = dJointCreateContact(world->world, world->contact_group, contact);
    dJointAttach(joint, a, b);
    return joint;
}

/* Whether the force that makes a contact stick lies within the friction cone. */
static int holds(const StickCandidate *candidate)
{
    const dReal *f = candidate->feedback.f1;
    dReal push = dot3(f, candidate->normal), limit = candidate->friction * push;
    if (!(push >= 0.0))
        return 0;
    return isinf(candidate->friction) || dot3(f, f) - push * push <= limit * limit;
}

/* Record that a contact was wrongly predicted to stick: its back-off doubles each time. */
static void sticking_back_off(World *world, int number)
{
    ContactMemory *memory = &world->memory[number];
    int longer = 2 * memory->interval + 1;
    memory->wait = memory->interval = longer < MAX_BACKOFF ? longer : MAX_BACKOFF;
}

/* Return whether a contact was wrongly predicted to stick in the last attempt. After MAX_ATTEMPTS
 * prediction is disabled for the step. */
int sticking_check_forces(World *world)
{
    int fails = 0, tracked = tracked_candidates(world);
    for (int i = 0; i < tracked; i++) {
        if (!world->candidates[i].sticks || holds(&world->candidates[i]))
            continue;
        sticking_back_off(world, i);
        fails = 1;
    }
    world->attempts += fails;
    world->sticking_disabled |= world->attempts >= MAX_ATTEMPTS;
    return fails;
}

/* Update the back-offs after a successful step; the exact solver has set all that it remembers. */
void sticking_end(World *world)
{
    int end = world->system ? tracked_candidates(world) : world->candidate_limit;
    for (int i = 0; i < end; i++) {
        ContactMemory *memory = &world->memory[i];
        if (i >= world->candidate_count)
            *memory = (ContactMemory){0};
        else if (world->system)
            continue;
        else if (memory->wait > 0)
            memory->wait--;
        else if (memory->interval > 0)
            memory->interval--;
    }
}
