/* ODE's errors, the lock around ODE, and interrupts of long computations. */
#ifndef HRP_SIM_ODE_GUARD_H
#define HRP_SIM_ODE_GUARD_H

#include <setjmp.h>

#include "world.h"

extern _Thread_local jmp_buf *hrp_error_exit; /* target of ODE's errors, or NULL */
extern _Thread_local long hrp_message_count;  /* of ODE's messages in this thread */

typedef void OdeWork(World *world, void *arguments);

/* Install ODE's handlers: errors jump to hrp_error_exit, messages are counted. Returns 0 when
 * memory is short. */
int hrp_handlers_install(void);

/* Lock ODE for this thread. The caller must not hold Python's interpreter lock, which the thread
 * in ODE may need. */
void hrp_ode_lock(void);

/* Lock ODE for this thread, unless another one has it. Returns whether it is locked. */
int hrp_ode_try_lock(void);
void hrp_ode_unlock(void);

/* Find at most max contacts of two shapes. Returns their number, or -1 if an assertion of ODE
 * fails: it only reads what it collides, so the world remains valid. Its messages about full
 * tables of contacts say nothing about the solver, and are not counted. */
int hrp_guarded_collide(dGeomID a, dGeomID b, int max, dContactGeom *found, int stride);

/* Whether the current step is to be given up, on request or because World.poll says so, which is
 * asked from time to time. Long computations ask repeatedly. */
int hrp_is_interrupted(World *world);

/* Run work in ODE, with its lock and a jump target for its errors. Work must not own memory
 * referenced only by its local variables, because an ODE error leaves it by longjmp. Returns 0 in
 * that case; the world is then broken, since its ODE objects may be inconsistent. */
int hrp_ode_run(World *world, OdeWork *work, void *arguments);

/* Return the text of the last error of ODE in this thread. */
const char *hrp_ode_last_error(void);

#endif
