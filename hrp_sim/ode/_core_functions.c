/* Functions of the module for an engine that calls ODE by other ways, as PyODE does. */
#include "_core.h"

static PyObject *ode_error;

/* Call a builtin that does nothing but call ODE. Where ODE fails, its error leaves the call;
 * what was left in the middle is not to be touched again. */
static PyObject *call_guarded(PyObject *Py_UNUSED(module), PyObject *const *arguments,
                              Py_ssize_t count)
{
    jmp_buf here, *outer = way_out;
    PyObject *volatile result = NULL;
    if (count < 1)
        return PyErr_Format(PyExc_TypeError, "guarded() needs a function");
    ode_enter_with_gil();
    if (setjmp(here) == 0) {
        way_out = &here;
        result = PyObject_Vectorcall(arguments[0], arguments + 1, (size_t)(count - 1), NULL);
    } else {
        Py_LeaveRecursiveCall(); /* the interpreter had counted the call that was left */
        PyErr_SetString(ode_error, "ODE has failed");
    }
    way_out = outer;
    ode_leave();
    return result;
}

static PyObject *take_complaints(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    long taken = complaints;
    complaints = 0;
    return PyLong_FromLong(taken);
}

static PyMethodDef functions[] = {
    {"guarded", (PyCFunction)(void (*)(void))call_guarded, METH_FASTCALL,
     "guarded(function, *arguments): call a builtin that calls ODE; raise OdeError if ODE fails."},
    {"take_complaints", take_complaints, METH_NOARGS,
     "take_complaints(): messages of ODE in this thread since the last call."},
    {NULL, NULL, 0, NULL},
};

/* Add these functions and their exception. Returns -1 with an exception set. */
int functions_add(PyObject *module)
{
    ode_error = PyErr_NewException("hrp_sim.ode._core.OdeError", PyExc_RuntimeError, NULL);
    if (!ode_error || PyModule_AddObjectRef(module, "OdeError", ode_error))
        return -1;
    return PyModule_AddFunctions(module, functions);
}
