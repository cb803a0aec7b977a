/* The Python module with its type World. See _core.pyi. */
#include "body.h"
#include "exact.h"
#include "guard.h"
#include "materials.h"
#include "memory.h"
#include "module_bodies.h"
#include "object.h"
#include "rays.h"
#include "records.h"
#include "sleep.h"
#include "state.h"
#include "step.h"
#include "sweep.h"

#include <math.h>
#include <stddef.h>
#include <structmember.h>

static PyObject *ode_error;

/* Destroy the ODE objects of a world; an OdeWork. */
static void world_destroy(World *world, void *Py_UNUSED(arguments))
{
    for (int i = 0; i < world->count; i++)
        hrp_body_destroy(world->bodies[i]);
    dGeomDestroy(world->ray);
    dGeomDestroy(world->substitute_box);
    dJointGroupDestroy(world->contact_group);
    dWorldDestroy(world->world);
}

/* Free everything. The ODE objects of a broken world are leaked. Returns 0 if ODE fails
 * meanwhile. */
static int world_close(WorldObject *object)
{
    World *world = &object->world;
    int closed =
        !world->world || world->broken || hrp_object_run_silently(object, world_destroy, NULL);
    for (int i = 0; i < world->count; i++)
        hrp_body_free(world->bodies[i]);
    hrp_memory_free(world);
    hrp_system_free(world);
    hrp_records_free(world);
    hrp_sleep_free(world);
    hrp_sweep_free(&world->sweep);
    hrp_rays_free(world);
    hrp_pair_costs_free(world);
    hrp_failed_pairs_free(world);
    free(world->bodies);
    world->bodies = NULL;
    world->count = 0;
    free(world->body_joints);
    world->body_joints = NULL;
    world->body_joint_count = 0;
    world->world = NULL;
    hrp_materials_free(world);
    if (object->arrays)
        PyDict_Clear(object->arrays);
    return closed;
}

typedef struct {
    double gravity[3], erp, cfm, over_relaxation, velocity, layer;
    int iterations;
} WorldSettings;

/* Create a world in ODE; an OdeWork. */
static void world_create(World *world, void *arguments)
{
    const WorldSettings *settings = arguments;
    const double *g = settings->gravity;
    world->contact_group = dJointGroupCreate(0);
    world->ray = dCreateRay(0, 1.0);
    world->substitute_box = dCreateBox(0, 1.0, 1.0, 1.0);
    world->world = dWorldCreate();
    dWorldSetGravity(world->world, g[0], g[1], g[2]);
    dWorldSetERP(world->world, settings->erp);
    dWorldSetCFM(world->world, settings->cfm);
    dWorldSetQuickStepNumIterations(world->world, settings->iterations);
    dWorldSetQuickStepW(world->world, settings->over_relaxation);
    world->max_correcting_velocity = settings->velocity;
    dWorldSetContactMaxCorrectingVel(world->world, settings->velocity);
    dWorldSetContactSurfaceLayer(world->world, settings->layer);
}

static PyObject *world_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"step",
                            "solver",
                            "gravity",
                            "erp",
                            "cfm",
                            "iterations",
                            "over_relaxation",
                            "max_correcting_velocity",
                            "surface_layer",
                            "max_contacts",
                            "joint_limits",
                            "self_collision",
                            "sleeping",
                            "seed",
                            NULL};
    WorldSettings settings;
    double step, *g = settings.gravity;
    int solver, max_contacts, joint_limits, self_collision, sleeping;
    unsigned long seed;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$di(ddd)ddidddipppk", names, &step, &solver,
                                     &g[0], &g[1], &g[2], &settings.erp, &settings.cfm,
                                     &settings.iterations, &settings.over_relaxation,
                                     &settings.velocity, &settings.layer, &max_contacts,
                                     &joint_limits, &self_collision, &sleeping, &seed))
        return NULL;
    if (!(step > 0.0) || max_contacts < 1 || settings.iterations < 1 || solver < SOLVER_WORLD ||
        solver > SOLVER_QUICK) {
        PyErr_SetString(PyExc_ValueError, "step, iterations and max_contacts must be positive, and "
                                          "the solver one of the constants SOLVER_*");
        return NULL;
    }
    WorldObject *object = (WorldObject *)type->tp_alloc(type, 0);
    if (!object)
        return NULL;
    World *world = &object->world;
    object->arrays = PyDict_New();
    if (!object->arrays || !hrp_object_run(object, world_create, &settings)) {
        Py_DECREF(object);
        return NULL;
    }
    world->step = step;
    world->solver = solver;
    if (solver == SOLVER_WORLD && !hrp_system_create(world)) {
        Py_DECREF(object);
        return PyErr_NoMemory();
    }
    world->max_contacts = max_contacts;
    world->joint_limits = joint_limits;
    world->self_collision = self_collision;
    world->steps_to_sleep = sleeping && world->system ? hrp_steps_to_sleep(step) : 0;
    world->seed = world->random = seed;
    return (PyObject *)object;
}

static void object_dealloc(WorldObject *object)
{
    world_close(object);
    Py_XDECREF(object->arrays);
    Py_TYPE(object)->tp_free((PyObject *)object);
}

static PyObject *object_set_materials(WorldObject *object, PyObject *args)
{
    World *world = &object->world;
    PyObject *objects[3], *result = NULL;
    Py_buffer views[3];
    Held held = {views, 0};
    char problem[PROBLEM_SIZE] = "";
    if (!PyArg_ParseTuple(args, "OOO", &objects[0], &objects[1], &objects[2]))
        return NULL;
    if (!world->world || world->count || world->busy)
        return PyErr_Format(PyExc_RuntimeError, "materials must be set before bodies are added");
    Py_ssize_t count = PyObject_Length(objects[0]);
    if (count < 1 || count > 10000)
        return PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_ValueError, "there must be 1 to 10000 materials, not %zd",
                                  count);
    for (; held.count < 3; held.count++)
        if (!hrp_array_hold(objects[held.count], NULL, held.count < 2 ? 'd' : 'i',
                            held.count < 2 ? count * count : count, 0, &views[held.count]))
            break;
    if (held.count == 3) {
        if (hrp_materials_set(world, (int)count, views[0].buf, views[1].buf, views[2].buf, problem))
            result = Py_NewRef(Py_None);
        else if (problem[0])
            PyErr_SetString(PyExc_ValueError, problem);
        else
            PyErr_NoMemory();
    }
    hrp_held_release(&held);
    return result;
}

/* Reset every body to its initial state; an OdeWork. */
static void reset_work(World *world, void *Py_UNUSED(arguments))
{
    hrp_sleep_reset(world);
    hrp_state_reset(world);
}

static PyObject *object_reset(WorldObject *object, PyObject *Py_UNUSED(none))
{
    if (!hrp_object_usable(object) || !hrp_object_run(object, reset_work, NULL))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *object_step(WorldObject *object, PyObject *argument)
{
    Fault fault;
    long count = PyLong_AsLong(argument);
    object->world.steps_done = 0;
    if ((count == -1 && PyErr_Occurred()) || !hrp_object_usable(object))
        return NULL;
    hrp_object_begin(object);
    hrp_world_step(&object->world, count, &fault);
    hrp_object_end(object);
    object->world.steps_done = fault.done;
    if (PyErr_Occurred()) /* a signal handler raised it */
        return NULL;
    if (fault.kind == FAULT_NONE && !object->world.failed_count && !hrp_message_count)
        Py_RETURN_NONE;
    return Py_BuildValue("(ili)", fault.kind, fault.body, fault.index);
}

static PyObject *object_interrupt(WorldObject *object, PyObject *Py_UNUSED(none))
{
    object->world.interrupt = 1;
    Py_RETURN_NONE;
}

static int rays_check(const double *origins, const double *directions, Py_ssize_t count)
{
    for (Py_ssize_t n = 0; n < count; n++) {
        const double *o = origins + 3 * n;
        if (!(fabs(o[0]) < 1e9 && fabs(o[1]) < 1e9 && fabs(o[2]) < 1e9)) {
            PyErr_Format(PyExc_ValueError, "origins[%zd] must be finite and below 1e9 m", n);
            return 0;
        }
        const double *d = directions + 3 * n;
        if (!(fabs(dot3(d, d) - 1.0) < 1e-5)) /* rotations are accurate to 1e-6 */ {
            PyErr_Format(PyExc_ValueError, "directions[%zd] is not a unit vector", n);
            return 0;
        }
    }
    return 1;
}

static PyObject *object_cast_rays(WorldObject *object, PyObject *args)
{
    PyObject *objects[3], *result = NULL;
    Py_buffer views[3];
    Held held = {views, 0};
    Rays rays;
    if (!PyArg_ParseTuple(args, "OOdliO", &objects[0], &objects[1], &rays.max_distance,
                          &rays.ignored.body, &rays.ignored.link, &objects[2]) ||
        !hrp_object_ready(object))
        return NULL;
    if (!(rays.max_distance > 0.0) || !isfinite(rays.max_distance))
        return PyErr_Format(PyExc_ValueError, "max_distance must be positive and finite");
    Py_ssize_t count = PyObject_Length(objects[2]);
    if (count < 0)
        return NULL;
    rays.count = (long)count;
    for (; held.count < 3; held.count++)
        if (!hrp_array_hold(objects[held.count], NULL, 'd', held.count < 2 ? 3 * count : count,
                            held.count == 2, &views[held.count]))
            break;
    if (held.count == 3 && rays_check(views[0].buf, views[1].buf, count) &&
        hrp_object_ready(object)) {
        rays.origins = views[0].buf;
        rays.directions = views[1].buf;
        rays.distances = views[2].buf;
        if (hrp_object_run(object, hrp_rays_cast, &rays))
            result = rays.complete ? Py_NewRef(Py_None) : PyErr_NoMemory();
    }
    hrp_held_release(&held);
    return result;
}

/* Write per contact: body and link of both sides (4), and point, normal, force and depth (10). */
static PyObject *object_read_contacts(WorldObject *object, PyObject *args)
{
    const World *world = &object->world;
    PyObject *objects[2];
    Py_buffer views[2];
    Held held = {views, 0};
    if (!PyArg_ParseTuple(args, "OO", &objects[0], &objects[1]) || !hrp_object_ready(object))
        return NULL;
    if (world->records_lost)
        return PyErr_NoMemory();
    for (; held.count < 2; held.count++)
        if (!hrp_array_hold(objects[held.count], NULL, held.count ? 'd' : 'i',
                            (held.count ? 10 : 4) * (Py_ssize_t)hrp_records_count(world), 1,
                            &views[held.count]))
            break;
    const int done = held.count == 2;
    if (done)
        hrp_records_write(world, views[0].buf, views[1].buf);
    hrp_held_release(&held);
    return done ? Py_NewRef(Py_None) : NULL;
}

/* Return (body, link, body, link, seconds) of each pair that the last step examined; a pair may be
 * listed more than once. */
static PyObject *object_read_pair_costs(WorldObject *object, PyObject *Py_UNUSED(none))
{
    const World *world = &object->world;
    if (!hrp_object_ready(object))
        return NULL;
    PyObject *list = PyList_New(world->pair_cost_count);
    for (int i = 0; list && i < world->pair_cost_count; i++) {
        const PairCost *cost = &world->pair_costs[i];
        PyObject *item = Py_BuildValue("(lilid)", cost->body[0], cost->link[0], cost->body[1],
                                       cost->link[1], cost->seconds);
        if (item)
            PyList_SET_ITEM(list, i, item);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* Return (body, link, body, link) of each pair of which ODE failed to find contacts. */
static PyObject *object_read_failed_pairs(WorldObject *object, PyObject *Py_UNUSED(none))
{
    const World *world = &object->world;
    if (!hrp_object_ready(object))
        return NULL;
    PyObject *list = PyList_New(world->failed_count);
    for (int i = 0; list && i < world->failed_count; i++) {
        const FailedPair *pair = &world->failed[i];
        PyObject *item =
            Py_BuildValue("(lili)", pair->body[0], pair->link[0], pair->body[1], pair->link[1]);
        if (item)
            PyList_SET_ITEM(list, i, item);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *object_close(WorldObject *object, PyObject *Py_UNUSED(none))
{
    if (object->world.busy)
        return PyErr_Format(PyExc_RuntimeError, "the world is being used by another thread");
    if (!world_close(object))
        return PyErr_Format(PyExc_RuntimeError, "ODE failed; the memory of the world is leaked");
    Py_RETURN_NONE;
}

static PyObject *get_recorded_contacts(WorldObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(hrp_records_count(&object->world));
}

/* Return a switch of the world, at an offset. */
static PyObject *get_switch(WorldObject *object, void *offset)
{
    return PyBool_FromLong(*(const int *)(const void *)((const char *)object + (size_t)offset));
}

static PyObject *get_random(WorldObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(object->world.random);
}

static int set_random(WorldObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    unsigned long random = value ? PyLong_AsUnsignedLong(value) : (unsigned long)-1;
    if (random == (unsigned long)-1) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "random must be the state of ODE's random numbers");
        return -1;
    }
    if (!hrp_object_ready(object))
        return -1;
    object->world.random = random;
    return 0;
}

/* Set a switch of the world. Returns -1 on failure. */
static int set_switch(WorldObject *object, PyObject *value, const char *name, int *enabled)
{
    int on = value ? PyObject_IsTrue(value) : -1;
    if (!value)
        PyErr_Format(PyExc_TypeError, "%s cannot be deleted", name);
    if (on < 0 || !hrp_object_ready(object))
        return -1;
    *enabled = on;
    return 0;
}

static int set_record_contacts(WorldObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    if (set_switch(object, value, "record_contacts", &object->world.record_contacts))
        return -1;
    hrp_records_clear(&object->world);
    return 0;
}

static int set_record_pair_costs(WorldObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    if (set_switch(object, value, "record_pair_costs", &object->world.record_pair_costs))
        return -1;
    hrp_pair_costs_clear(&object->world);
    return 0;
}

static PyObject *get_contact_memory(WorldObject *object, void *Py_UNUSED(closure))
{
    const World *world = &object->world;
    if (!hrp_object_ready(object))
        return NULL;
    size_t size = sizeof(ContactMemory) * (size_t)world->touch_count;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes)
        hrp_memory_read(world, (ContactMemory *)(void *)PyBytes_AS_STRING(bytes));
    return bytes;
}

static int set_contact_memory(WorldObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    char *bytes;
    Py_ssize_t size;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "contact_memory cannot be deleted");
        return -1;
    }
    if (PyBytes_AsStringAndSize(value, &bytes, &size) || !hrp_object_ready(object))
        return -1;
    if (size > (Py_ssize_t)sizeof(ContactMemory) * MAX_CONTACTS) {
        PyErr_Format(PyExc_ValueError, "contact_memory of more than %d contacts", MAX_CONTACTS);
        return -1;
    }
    int count = (int)(size / (Py_ssize_t)sizeof(ContactMemory));
    if (hrp_memory_write(&object->world, (const ContactMemory *)(const void *)bytes, count))
        return 0;
    PyErr_NoMemory();
    return -1;
}

static PyMethodDef methods[] = {
    {"set_materials", (PyCFunction)object_set_materials, METH_VARARGS,
     "set_materials(friction, restitution, prevails): set both per pair of materials, and whether "
     "the\n"
     "pair of each material with the first one prevails over what shapes declare; before bodies "
     "are\n"
     "added."},
    {"add_body", (PyCFunction)hrp_object_add_body, METH_VARARGS,
     "add_body(articulation, motion, drive, wrench): add a body; return its id and "
     "overlapping links."},
    {"remove_body", (PyCFunction)hrp_object_remove_body, METH_O, "remove_body(id): remove a body."},
    {"rebase_body", (PyCFunction)hrp_object_rebase_body, METH_VARARGS,
     "rebase_body(id, articulation): move its static links, and reset it to the articulation."},
    {"move_body", (PyCFunction)hrp_object_move_body, METH_VARARGS,
     "move_body(id, articulation): move its groups and joints to the articulation's start."},
    {"add_joint", (PyCFunction)hrp_object_add_joint, METH_VARARGS,
     "add_joint(kind, id, link, R, p, id, link, R, p, axis): connect links of two bodies; return "
     "the joint's id."},
    {"remove_joint", (PyCFunction)hrp_object_remove_joint, METH_O,
     "remove_joint(id): remove a joint between bodies."},
    {"read_state", (PyCFunction)hrp_object_read_state, METH_VARARGS,
     "read_state(id, arrays): write its dynamic state into the arrays of a SavedBody."},
    {"write_state", (PyCFunction)hrp_object_write_state, METH_VARARGS,
     "write_state(id, arrays): put a body into the state of a SavedBody."},
    {"read_sleep", (PyCFunction)hrp_object_read_sleep, METH_VARARGS,
     "read_sleep(bodies, contacts, values): write which bodies sleep, and their contacts."},
    {"write_sleep", (PyCFunction)hrp_object_write_sleep, METH_VARARGS,
     "write_sleep(bodies, contacts, values): let bodies sleep, with their contacts."},
    {"reset", (PyCFunction)object_reset, METH_NOARGS, "Reset every body to its initial state."},
    {"step", (PyCFunction)object_step, METH_O,
     "step(count): advance; return None, or (fault, body id, index) if it failed or ODE had "
     "problems."},
    {"interrupt", (PyCFunction)object_interrupt, METH_NOARGS,
     "Give up a step that is being taken, in any thread."},
    {"cast_rays", (PyCFunction)object_cast_rays, METH_VARARGS,
     "cast_rays(origins, directions, max_distance, ignored id, its link or -1, distances)."},
    {"read_contacts", (PyCFunction)object_read_contacts, METH_VARARGS,
     "read_contacts(ids, values): write the contacts that the last step recorded."},
    {"read_pair_costs", (PyCFunction)object_read_pair_costs, METH_NOARGS,
     "read_pair_costs(): return body, link, body, link and time of each pair of the last step."},
    {"read_failed_pairs", (PyCFunction)object_read_failed_pairs, METH_NOARGS,
     "read_failed_pairs(): return body, link, body and link of each pair of which ODE failed to "
     "find contacts in the last call of step."},
    {"close", (PyCFunction)object_close, METH_NOARGS, "Free everything."},
    {NULL, NULL, 0, NULL},
};

#define IN_WORLD(member) offsetof(WorldObject, world.member), READONLY

static PyMemberDef members[] = {
    {"message_count", T_LONG, IN_WORLD(message_count), "Number of ODE messages so far."},
    {"contacts", T_LONG, IN_WORLD(contacts), "Number of contacts in the last step."},
    {"steps_to_sleep", T_INT, IN_WORLD(steps_to_sleep),
     "For how many steps an island must be at rest to fall asleep; 0 if none does."},
    {"sleeping_contacts", T_INT, IN_WORLD(sleeper_count),
     "Number of contacts of bodies that sleep."},
    {"steps_done", T_LONG, IN_WORLD(steps_done),
     "Number of steps that the last call of step completed."},
    {NULL, 0, 0, 0, NULL},
};

#define SWITCH(member) (void *)offsetof(WorldObject, world.member)

static PyGetSetDef properties[] = {
    {"record_contacts", (getter)get_switch, (setter)set_record_contacts,
     "Whether steps record contact points and forces.", SWITCH(record_contacts)},
    {"recorded_contacts", (getter)get_recorded_contacts, NULL,
     "Number of contacts that the last step recorded, with those of bodies that sleep.", NULL},
    {"record_pair_costs", (getter)get_switch, (setter)set_record_pair_costs,
     "Whether steps record the times of collision detection by pair.", SWITCH(record_pair_costs)},
    {"random", (getter)get_random, (setter)set_random,
     "State of the random numbers that order constraints.", NULL},
    {"contact_memory", (getter)get_contact_memory, (setter)set_contact_memory,
     "What each contact of the last step leaves to the next one: MEMORY_NUMBERS integers each.",
     NULL},
    {"broken", (getter)get_switch, NULL, "Whether an error of ODE left it unusable.",
     SWITCH(broken)},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject world_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hrp_sim.engine.ode._core.World",
    .tp_doc = "An ODE world that exchanges its data through arrays.",
    .tp_basicsize = sizeof(WorldObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = world_new,
    .tp_dealloc = (destructor)object_dealloc,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = properties,
};

/* Call a builtin of another binding, such as PyODE, that only calls ODE. An ODE error leaves the
 * call by longjmp; the ODE objects that it worked on must not be used again. */
static PyObject *call_guarded(PyObject *Py_UNUSED(module), PyObject *const *arguments,
                              Py_ssize_t count)
{
    jmp_buf here, *outer = hrp_error_exit;
    PyObject *volatile result = NULL;
    if (count < 1)
        return PyErr_Format(PyExc_TypeError, "guarded() needs a function");
    if (!hrp_ode_try_lock()) {
        Py_BEGIN_ALLOW_THREADS hrp_ode_lock();
        Py_END_ALLOW_THREADS
    }
    if (setjmp(here) == 0) {
        hrp_error_exit = &here;
        result = PyObject_Vectorcall(arguments[0], arguments + 1, (size_t)(count - 1), NULL);
    } else {
        Py_LeaveRecursiveCall(); /* balances the call that longjmp left */
        PyErr_SetString(ode_error, "ODE has failed");
    }
    hrp_error_exit = outer;
    hrp_ode_unlock();
    return result;
}

static PyObject *take_messages(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    long taken = hrp_message_count;
    hrp_message_count = 0;
    return PyLong_FromLong(taken);
}

static PyMethodDef functions[] = {
    {"guarded", (PyCFunction)(void (*)(void))call_guarded, METH_FASTCALL,
     "guarded(function, *arguments): call a builtin that calls ODE; raise OdeError if ODE fails."},
    {"take_messages", take_messages, METH_NOARGS,
     "take_messages(): number of ODE messages in this thread since the last call."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hrp_sim.engine.ode._core",
    .m_doc = "Open Dynamics Engine behind plain arrays.",
    .m_size = -1,
    .m_methods = functions,
};

static const struct {
    const char *name;
    int value;
} constants[] = {
    {"FAULT_NONE", FAULT_NONE},
    {"FAULT_DRIVE", FAULT_DRIVE},
    {"FAULT_TRACK", FAULT_TRACK},
    {"FAULT_STATE", FAULT_STATE},
    {"FAULT_SOLVER", FAULT_SOLVER},
    {"FAULT_WRENCH", FAULT_WRENCH},
    {"FAULT_CONTACTS", FAULT_CONTACTS},
    {"FAULT_BLOCKS", FAULT_BLOCKS},
    {"MAX_BLOCKS", MAX_BLOCKS},
    {"FAULT_INTERRUPTED", FAULT_INTERRUPTED},
    {"FAULT_SURFACE", FAULT_SURFACE},
    {"SOLVER_WORLD", SOLVER_WORLD},
    {"SOLVER_QUICK", SOLVER_QUICK},
    {"MAX_CONTACTS", MAX_CONTACTS},
    {"MEMORY_NUMBERS", MEMORY_NUMBERS},
    {"REST_NUMBERS", REST_NUMBERS},
};

PyMODINIT_FUNC PyInit__core(void)
{
    if (!dInitODE2(0) || PyType_Ready(&world_type))
        return NULL;
    if (!hrp_handlers_install())
        return PyErr_NoMemory();
    PyObject *module = PyModule_Create(&definition);
    ode_error = PyErr_NewException("hrp_sim.engine.ode._core.OdeError", PyExc_RuntimeError, NULL);
    int failed = !module || !ode_error || PyModule_AddObjectRef(module, "OdeError", ode_error) ||
                 PyModule_AddObjectRef(module, "World", (PyObject *)&world_type);
    for (size_t i = 0; !failed && i < sizeof constants / sizeof *constants; i++)
        failed = PyModule_AddIntConstant(module, constants[i].name, constants[i].value);
    if (failed)
        Py_CLEAR(module);
    return module;
}
