/* The buffers of numpy's arrays. Functions set an exception of Python where they fail. */
#ifndef HRP_SIM_ODE_ARRAYS_H
#define HRP_SIM_ODE_ARRAYS_H

#define PY_SSIZE_T_CLEAN
#if !__has_include(<Python.h>)
#error "the headers of Python are missing: apt install python3-dev"
#endif
#include <Python.h>

#include "articulation.h"
#include "state.h"

/* Buffers that are held, one after another. */
typedef struct {
    Py_buffer *views;
    int count;
} Held;

/* Hold the buffer of owner.name, or of owner itself: contiguous, of type 'd' or 'i', of size
 * numbers (-1: any). */
int hrp_array_hold(PyObject *owner, const char *name, char type, Py_ssize_t size, int writable,
                   Py_buffer *view);

/* Hold the columns of an Articulation, and check them. The buffers must be released in either
 * case. */
int hrp_flat_hold(Flat *flat, PyObject *articulation, int materials, Held *held);

/* Hold the arrays that a body reads and writes at every step, as a tuple of memoryviews: they are
 * held as long as it lives. Returns NULL on failure. */
PyObject *hrp_live_hold(Body *body, PyObject *motion, PyObject *drive, PyObject *wrench);

/* Hold the arrays of a SavedBody. The buffers must be released in either case. */
int hrp_saved_hold(const Body *body, PyObject *owner, int writable, Saved *saved, Held *held);

void hrp_held_release(Held *held);

#endif
