/* World as a type of Python. Functions set an exception of Python where they fail. */
#ifndef HRP_SIM_ODE_OBJECT_H
#define HRP_SIM_ODE_OBJECT_H

#include "arrays.h"
#include "guard.h"

typedef struct {
    PyObject_HEAD
    World world;
    PyObject *arrays;      /* of each body: id to memoryviews, see hrp_live_hold */
    PyThreadState *thread; /* of the thread that steps, without the interpreter lock */
} WorldObject;

/* Release the interpreter lock, with the world marked as busy; and obtain it again. Signals are
 * looked for meanwhile. */
void hrp_object_begin(WorldObject *object);
void hrp_object_end(WorldObject *object);

/* Run work in ODE without the interpreter lock; the second sets no exception. */
int hrp_object_run(WorldObject *object, OdeWork *work, void *arguments);
int hrp_object_run_silently(WorldObject *object, OdeWork *work, void *arguments);

/* Whether the world can be read; a broken world can be. */
int hrp_object_ready(const WorldObject *object);

/* Whether the world can be changed. */
int hrp_object_usable(const WorldObject *object);

#endif
