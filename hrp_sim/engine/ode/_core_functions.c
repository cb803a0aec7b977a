/* Module functions for an engine that calls ODE through another binding, such as PyODE. */
#include "_core.h"

static PyObject *ode_error;

/* Call a builtin that only calls ODE. An ODE error leaves the call by longjmp; the ODE objects
 * that it worked on must not be used again. */
static PyObject *call_guarded(PyObject *Py_UNUSED(module), PyObject *const *arguments,
                              Py_ssize_t count)
{
    jmp_buf here, *outer = error_exit;
    PyObject *volatile result = NULL;
    if (count < 1)
        return PyErr_Format(PyExc_TypeError, "guarded() needs a function");
    ode_lock_with_gil();
    if (setjmp(here) == 0) {
        error_exit = &here;
        result = PyObject_Vectorcall(arguments[0], arguments + 1, (size_t)(count - 1), NULL);
    } else {
        Py_LeaveRecursiveCall(); /* balances the call that longjmp left */
        PyErr_SetString(ode_error, "ODE has failed");
    }
    error_exit = outer;
    ode_unlock();
    return result;
}

static PyObject *take_messages(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    long taken = message_count;
    message_count = 0;
    return PyLong_FromLong(taken);
}

static PyMethodDef functions[] = {
    {"guarded", (PyCFunction)(void (*)(void))call_guarded, METH_FASTCALL,
     "guarded(function, *arguments): call a builtin that calls ODE; raise OdeError if ODE fails."},
    {"take_messages", take_messages, METH_NOARGS,
     "take_messages(): number of ODE messages in this thread since the last call."},
    {NULL, NULL, 0, NULL},
};

/* Add these functions and OdeError to the module. Returns -1 with an exception set. */
int functions_add(PyObject *module)
{
    ode_error = PyErr_NewException("hrp_sim.engine.ode._core.OdeError", PyExc_RuntimeError, NULL);
    if (!ode_error || PyModule_AddObjectRef(module, "OdeError", ode_error))
        return -1;
    return PyModule_AddFunctions(module, functions);
}
