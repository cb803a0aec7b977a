/* Methods of World that add, remove and move bodies and joints between them, and read and write
 * states. */
#ifndef HRP_SIM_ODE_MODULE_BODIES_H
#define HRP_SIM_ODE_MODULE_BODIES_H

#include "object.h"

/* See _core.pyi. */
PyObject *hrp_object_add_body(WorldObject *object, PyObject *args);
PyObject *hrp_object_remove_body(WorldObject *object, PyObject *argument);
PyObject *hrp_object_rebase_body(WorldObject *object, PyObject *args);
PyObject *hrp_object_move_body(WorldObject *object, PyObject *args);
PyObject *hrp_object_add_joint(WorldObject *object, PyObject *args);
PyObject *hrp_object_remove_joint(WorldObject *object, PyObject *argument);
PyObject *hrp_object_read_state(WorldObject *object, PyObject *args);
PyObject *hrp_object_write_state(WorldObject *object, PyObject *args);
PyObject *hrp_object_read_sleep(WorldObject *object, PyObject *args);
PyObject *hrp_object_write_sleep(WorldObject *object, PyObject *args);

#endif
