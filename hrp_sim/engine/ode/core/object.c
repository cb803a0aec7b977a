/* How the type World runs what is in C, beside other threads of Python. */
#include "object.h"

/* Look for signals while a step is taken; an exception of a handler gives it up. */
static int poll_signals(void *poller)
{
    WorldObject *object = poller;
    PyEval_RestoreThread(object->thread);
    int failed = PyErr_CheckSignals() != 0;
    object->thread = PyEval_SaveThread();
    return failed;
}

void hrp_object_begin(WorldObject *object)
{
    object->world.busy = 1;
    object->world.interrupt = 0;
    object->world.poller = object;
    object->thread = PyEval_SaveThread();
    object->world.poll = poll_signals;
}

void hrp_object_end(WorldObject *object)
{
    object->world.poll = NULL;
    PyEval_RestoreThread(object->thread);
    object->world.busy = 0;
}

int hrp_object_run_silently(WorldObject *object, OdeWork *work, void *arguments)
{
    hrp_object_begin(object);
    int done = hrp_ode_run(&object->world, work, arguments);
    hrp_object_end(object);
    return done;
}

int hrp_object_run(WorldObject *object, OdeWork *work, void *arguments)
{
    int done = hrp_object_run_silently(object, work, arguments);
    if (!done)
        PyErr_Format(PyExc_RuntimeError, "ODE failed: %s", hrp_ode_last_error());
    return done;
}

int hrp_object_ready(const WorldObject *object)
{
    if (!object->world.world)
        PyErr_SetString(PyExc_RuntimeError, "the world is closed");
    else if (object->world.busy)
        PyErr_SetString(PyExc_RuntimeError, "the world is being used by another thread");
    else
        return 1;
    return 0;
}

int hrp_object_usable(const WorldObject *object)
{
    if (!hrp_object_ready(object))
        return 0;
    if (object->world.broken)
        PyErr_SetString(PyExc_RuntimeError, "the world is broken; create a new one");
    return !object->world.broken;
}
