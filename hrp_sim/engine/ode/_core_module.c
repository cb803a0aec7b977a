/* The Python module with its type World. See _core.pyi. */
#include "_core_collision.h"

#include <math.h>

/* Destroy the ODE objects of a world; an OdeWork. */
static void world_destroy(World *world, void *Py_UNUSED(arguments))
{
    for (int i = 0; i < world->count; i++)
        body_destroy(world->bodies[i]);
    dGeomDestroy(world->ray);
    dGeomDestroy(world->substitute_box);
    dJointGroupDestroy(world->contact_group);
    dWorldDestroy(world->world);
}

/* Free everything. The ODE objects of a broken world are leaked. Returns 0 if ODE fails
 * meanwhile. */
static int world_close(World *world)
{
    int closed = !world->world || world->broken || ode_run(world, world_destroy, NULL);
    for (int i = 0; i < world->count; i++)
        body_free(world->bodies[i]);
    memory_free(world);
    system_free(world);
    records_free(world);
    sweep_free(&world->sweep);
    pair_costs_free(world);
    failed_pairs_free(world);
    free(world->bodies);
    world->bodies = NULL;
    world->count = 0;
    free(world->body_joints);
    world->body_joints = NULL;
    world->body_joint_count = 0;
    world->world = NULL;
    materials_free(world);
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
    dGeomRaySetClosestHit(world->ray, 1);
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
    static char *names[] = {"step", "solver", "gravity", "erp", "cfm", "iterations",
                            "over_relaxation", "max_correcting_velocity", "surface_layer",
                            "max_contacts", "joint_limits", "self_collision", "seed", NULL};
    WorldSettings settings;
    double step, *g = settings.gravity;
    int solver, max_contacts, joint_limits, self_collision;
    unsigned long seed;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$di(ddd)ddidddippk", names, &step, &solver,
                                     &g[0], &g[1], &g[2], &settings.erp, &settings.cfm,
                                     &settings.iterations, &settings.over_relaxation,
                                     &settings.velocity, &settings.layer, &max_contacts,
                                     &joint_limits, &self_collision, &seed))
        return NULL;
    if (!(step > 0.0) || max_contacts < 1 || settings.iterations < 1 || solver < SOLVER_WORLD ||
        solver > SOLVER_QUICK) {
        PyErr_SetString(PyExc_ValueError, "step, iterations and max_contacts must be positive, and "
                                          "the solver one of the constants SOLVER_*");
        return NULL;
    }
    World *world = (World *)type->tp_alloc(type, 0);
    if (!world)
        return NULL;
    if (!ode_run_or_raise(world, world_create, &settings)) {
        Py_DECREF(world);
        return NULL;
    }
    world->step = step;
    world->solver = solver;
    if (solver == SOLVER_WORLD && !system_create(world)) {
        Py_DECREF(world);
        return PyErr_NoMemory();
    }
    world->max_contacts = max_contacts;
    world->joint_limits = joint_limits;
    world->self_collision = self_collision;
    world->seed = world->random = seed;
    return (PyObject *)world;
}

static void world_dealloc(World *world)
{
    world_close(world);
    Py_TYPE(world)->tp_free((PyObject *)world);
}

/* Reset every body to its initial state; an OdeWork. */
static void world_reset_work(World *world, void *Py_UNUSED(arguments))
{
    state_reset(world);
}

static PyObject *world_reset(World *world, PyObject *Py_UNUSED(none))
{
    if (!world_usable(world) || !ode_run_or_raise(world, world_reset_work, NULL))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *world_step_method(World *world, PyObject *argument)
{
    Fault fault;
    long count = PyLong_AsLong(argument);
    world->steps_done = 0;
    if ((count == -1 && PyErr_Occurred()) || !world_usable(world))
        return NULL;
    world->busy = 1;
    world->interrupt = 0;
    world->thread = PyEval_SaveThread();
    world_step(world, count, &fault);
    PyEval_RestoreThread(world->thread);
    world->thread = NULL;
    world->busy = 0;
    world->steps_done = fault.done;
    if (fault.kind == FAULT_NONE)
        Py_RETURN_NONE;
    if (PyErr_Occurred()) /* a signal handler raised it */
        return NULL;
    return Py_BuildValue("(illi)", fault.kind, fault.done, fault.body, fault.index);
}

static PyObject *world_interrupt(World *world, PyObject *Py_UNUSED(none))
{
    world->interrupt = 1;
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

static PyObject *world_cast_rays(World *world, PyObject *args)
{
    PyObject *objects[3];
    Py_buffer views[3];
    Rays rays;
    int held = 0;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "OOdliO", &objects[0], &objects[1], &rays.max_distance,
                          &rays.ignored.body, &rays.ignored.link, &objects[2]) ||
        !world_ready(world))
        return NULL;
    if (!(rays.max_distance > 0.0) || !isfinite(rays.max_distance))
        return PyErr_Format(PyExc_ValueError, "max_distance must be positive and finite");
    rays.count = PyObject_Length(objects[2]);
    if (rays.count < 0)
        return NULL;
    for (; held < 3; held++)
        if (fetch_array(objects[held], NULL, 'd', held < 2 ? 3 * rays.count : rays.count, held == 2,
                        &views[held]))
            break;
    if (held == 3 && rays_check(views[0].buf, views[1].buf, rays.count) && world_ready(world)) {
        rays.origins = views[0].buf;
        rays.directions = views[1].buf;
        rays.distances = views[2].buf;
        if (ode_run_or_raise(world, rays_cast, &rays))
            result = Py_NewRef(Py_None);
    }
    while (held > 0)
        PyBuffer_Release(&views[--held]);
    return result;
}

static PyObject *world_close_method(World *world, PyObject *Py_UNUSED(none))
{
    if (world->busy)
        return PyErr_Format(PyExc_RuntimeError, "the world is being used by another thread");
    if (!world_close(world))
        return PyErr_Format(PyExc_RuntimeError, "ODE failed; the memory of the world is leaked");
    Py_RETURN_NONE;
}

static PyObject *world_message_count(World *world, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(world->message_count);
}

static PyObject *world_contacts(World *world, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(world->contacts);
}

static PyObject *world_broken(World *world, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(world->broken);
}

static PyObject *world_steps_done(World *world, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(world->steps_done);
}

static PyObject *world_random(World *world, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(world->random);
}

static int world_set_random(World *world, PyObject *value, void *Py_UNUSED(closure))
{
    unsigned long random = value ? PyLong_AsUnsignedLong(value) : (unsigned long)-1;
    if (random == (unsigned long)-1) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "random must be the state of ODE's random numbers");
        return -1;
    }
    if (!world_ready(world))
        return -1;
    world->random = random;
    return 0;
}

static PyMethodDef methods[] = {
    {"set_materials", (PyCFunction)materials_set, METH_VARARGS,
     "set_materials(friction, restitution, prevails): set both per pair of materials, and whether the\n"
     "pair of each material with the first one prevails over what shapes declare; before bodies are\n"
     "added."},
    {"add_body", (PyCFunction)world_add_body, METH_VARARGS,
     "add_body(articulation, motion, drive, wrench): add a body; return its id and "
     "overlapping links."},
    {"remove_body", (PyCFunction)world_remove_body, METH_O, "remove_body(id): remove a body."},
    {"rebase_body", (PyCFunction)world_rebase_body, METH_VARARGS,
     "rebase_body(id, articulation): move its static links, and reset it to the articulation."},
    {"move_body", (PyCFunction)world_move_body, METH_VARARGS,
     "move_body(id, articulation): move its groups and joints to the articulation's start."},
    {"add_joint", (PyCFunction)world_add_joint, METH_VARARGS,
     "add_joint(kind, id, link, R, p, id, link, R, p, axis): connect links of two bodies; return "
     "the joint's id."},
    {"remove_joint", (PyCFunction)world_remove_joint, METH_O,
     "remove_joint(id): remove a joint between bodies."},
    {"read_state", (PyCFunction)world_read_state, METH_VARARGS,
     "read_state(id, arrays): write its dynamic state into the arrays of a SavedBody."},
    {"write_state", (PyCFunction)world_write_state, METH_VARARGS,
     "write_state(id, arrays): put a body into the state of a SavedBody."},
    {"reset", (PyCFunction)world_reset, METH_NOARGS, "Reset every body to its initial state."},
    {"step", (PyCFunction)world_step_method, METH_O,
     "step(count): advance; return None, or (fault, steps done, body id, index)."},
    {"interrupt", (PyCFunction)world_interrupt, METH_NOARGS,
     "Give up a step that is being taken, in any thread."},
    {"cast_rays", (PyCFunction)world_cast_rays, METH_VARARGS,
     "cast_rays(origins, directions, max_distance, ignored id, its link or -1, distances)."},
    {"read_contacts", (PyCFunction)world_read_contacts, METH_VARARGS,
     "read_contacts(ids, values): write the contacts that the last step recorded."},
    {"read_pair_costs", (PyCFunction)world_read_pair_costs, METH_NOARGS,
     "read_pair_costs(): return body, link, body, link and time of each pair of the last step."},
    {"read_failed_pairs", (PyCFunction)world_read_failed_pairs, METH_NOARGS,
     "read_failed_pairs(): return body, link, body and link of each pair of which ODE failed to "
     "find contacts in the last call of step."},
    {"close", (PyCFunction)world_close_method, METH_NOARGS, "Free everything."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"message_count", (getter)world_message_count, NULL, "Number of ODE messages so far.", NULL},
    {"contacts", (getter)world_contacts, NULL, "Number of contacts in the last step.", NULL},
    {"record_contacts", (getter)world_get_record_contacts, (setter)world_set_record_contacts,
     "Whether steps record contact points and forces.", NULL},
    {"record_pair_costs", (getter)world_get_record_pair_costs, (setter)world_set_record_pair_costs,
     "Whether steps record the times of collision detection by pair.", NULL},
    {"recorded_contacts", (getter)world_recorded_contacts, NULL,
     "Number of contacts that the last step recorded.", NULL},
    {"steps_done", (getter)world_steps_done, NULL,
     "Number of steps that the last call of step completed.", NULL},
    {"random", (getter)world_random, (setter)world_set_random,
     "State of the random numbers that order constraints.", NULL},
    {"contact_memory", (getter)world_get_contact_memory, (setter)world_set_contact_memory,
     "What each contact of the last step leaves to the next one: MEMORY_NUMBERS integers each.",
     NULL},
    {"broken", (getter)world_broken, NULL, "Whether an error of ODE left it unusable.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject world_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hrp_sim.engine.ode._core.World",
    .tp_doc = "An ODE world that exchanges its data through arrays.",
    .tp_basicsize = sizeof(World),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = world_new,
    .tp_dealloc = (destructor)world_dealloc,
    .tp_methods = methods,
    .tp_getset = properties,
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hrp_sim.engine.ode._core",
    .m_doc = "Open Dynamics Engine behind plain arrays.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__core(void)
{
    if (!dInitODE2(0) || PyType_Ready(&world_type) || handlers_install())
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (!module || functions_add(module) ||
        PyModule_AddObjectRef(module, "World", (PyObject *)&world_type) ||
        PyModule_AddIntConstant(module, "FAULT_DRIVE", FAULT_DRIVE) ||
        PyModule_AddIntConstant(module, "FAULT_TRACK", FAULT_TRACK) ||
        PyModule_AddIntConstant(module, "FAULT_STATE", FAULT_STATE) ||
        PyModule_AddIntConstant(module, "FAULT_SOLVER", FAULT_SOLVER) ||
        PyModule_AddIntConstant(module, "FAULT_WRENCH", FAULT_WRENCH) ||
        PyModule_AddIntConstant(module, "FAULT_CONTACTS", FAULT_CONTACTS) ||
        PyModule_AddIntConstant(module, "FAULT_BLOCKS", FAULT_BLOCKS) ||
        PyModule_AddIntConstant(module, "MAX_BLOCKS", MAX_BLOCKS) ||
        PyModule_AddIntConstant(module, "FAULT_INTERRUPTED", FAULT_INTERRUPTED) ||
        PyModule_AddIntConstant(module, "FAULT_SURFACE", FAULT_SURFACE) ||
        PyModule_AddIntConstant(module, "SOLVER_WORLD", SOLVER_WORLD) ||
        PyModule_AddIntConstant(module, "SOLVER_QUICK", SOLVER_QUICK) ||
        PyModule_AddIntConstant(module, "MAX_CONTACTS", MAX_CONTACTS) ||
        PyModule_AddIntConstant(module, "MEMORY_NUMBERS", MEMORY_NUMBERS)) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
