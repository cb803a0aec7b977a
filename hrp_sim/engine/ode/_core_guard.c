/* ODE's error handlers, the lock around ODE, and whether a world can be used. */
#include "_core.h"

#include <pthread.h>
#include <time.h>

#define POLL_INTERVAL 0.05 /* [s] */

/* All worlds of a process share ODE's random numbers, job queue and triangle caches. So only one
 * thread may be in ODE at a time; two would crash or make runs differ. Reading the pose of a body
 * of one's own world needs no lock. The mutex is recursive: a call of PyODE may trigger garbage
 * collection, which may free a world. */
static pthread_mutex_t shared;

/* ODE aborts the process when its error handler returns, so the handler leaves by longjmp. */
_Thread_local jmp_buf *error_exit;
_Thread_local long message_count;
static _Thread_local char last_error[200];

static void on_error(int number, const char *message, va_list arguments)
{
    vsnprintf(last_error, sizeof last_error, message, arguments);
    if (error_exit)
        longjmp(*error_exit, 1);
    /* No jump target: ODE will abort the process, so report the error first. */
    fprintf(stderr, "ODE error %d: %s\n", number, last_error);
}

static void on_message(int number, const char *message, va_list arguments)
{
    (void)number, (void)message, (void)arguments;
    message_count++;
}

/* Install ODE's handlers: errors jump to error_exit, messages are counted. Returns -1 with an
 * exception set. */
int handlers_install(void)
{
    pthread_mutexattr_t attributes;
    int failed = pthread_mutexattr_init(&attributes);
    if (!failed) {
        failed = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) ||
                 pthread_mutex_init(&shared, &attributes);
        pthread_mutexattr_destroy(&attributes);
    }
    if (failed) {
        PyErr_NoMemory();
        return -1;
    }
    dSetErrorHandler(on_error);
    dSetDebugHandler(on_error);
    dSetMessageHandler(on_message);
    return 0;
}

/* Lock ODE for this thread. The caller must not hold the GIL, which the thread in ODE may need. */
void ode_lock(void)
{
    pthread_mutex_lock(&shared);
}

/* Like ode_lock, for a caller that holds the GIL, which is released while waiting. */
void ode_lock_with_gil(void)
{
    if (pthread_mutex_trylock(&shared) == 0)
        return;
    Py_BEGIN_ALLOW_THREADS
    ode_lock();
    Py_END_ALLOW_THREADS
}

void ode_unlock(void)
{
    pthread_mutex_unlock(&shared);
}

/* Run work with a jump target for ODE's errors. Returns 0 if an error left it. */
static int attempt(World *world, OdeWork *work, void *arguments)
{
    jmp_buf here, *outer = error_exit;
    volatile int done = 0;
    if (setjmp(here) == 0) {
        error_exit = &here;
        work(world, arguments);
        done = 1;
    }
    error_exit = outer;
    return done;
}

/* Find at most max contacts of two shapes. Returns their number, or -1 if an assertion of ODE fails:
 * it only reads what it collides, so the world remains valid. Its messages about full tables of
 * contacts say nothing about the solver, and are not counted. */
int guarded_collide(dGeomID a, dGeomID b, int max, dContactGeom *found, int stride)
{
    jmp_buf here, *outer = error_exit;
    long messages = message_count;
    volatile int count = -1;
    if (setjmp(here) == 0) {
        error_exit = &here;
        count = dCollide(a, b, max, found, stride);
    }
    error_exit = outer;
    message_count = messages;
    return count;
}

/* Run work in ODE without the GIL, with the world marked as busy. Work must not own memory
 * referenced only by its local variables, because an ODE error leaves it by longjmp. Returns 0 in
 * that case; the world is then broken, since its ODE objects may be inconsistent. */
int ode_run(World *world, OdeWork *work, void *arguments)
{
    int done;
    world->busy = 1;
    world->interrupt = 0;
    world->thread = PyEval_SaveThread();
    ode_lock();
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    done = attempt(world, work, arguments);
    ode_unlock();
    PyEval_RestoreThread(world->thread);
    world->thread = NULL;
    world->busy = 0;
    if (!done)
        world->broken = 1;
    return done;
}

/* Like ode_run, but set an exception if ODE fails. */
int ode_run_or_raise(World *world, OdeWork *work, void *arguments)
{
    int done = ode_run(world, work, arguments);
    if (!done)
        PyErr_Format(PyExc_RuntimeError, "ODE failed: %s", last_error);
    return done;
}

/* Whether the current step is to be given up, on request or because a signal handler raised an
 * exception. Long computations ask repeatedly; signals are looked for from time to time. */
int is_interrupted(World *world)
{
    struct timespec clock;
    if (world->interrupt || !world->thread)
        return world->interrupt;
    clock_gettime(CLOCK_MONOTONIC, &clock);
    double now = (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
    if (now < world->next_poll)
        return 0;
    world->next_poll = now + POLL_INTERVAL;
    PyEval_RestoreThread(world->thread);
    world->interrupt |= PyErr_CheckSignals() != 0;
    world->thread = PyEval_SaveThread();
    return world->interrupt;
}

/* Whether the world can be read; sets an exception if not. */
int world_ready(World *world)
{
    if (!world->world)
        PyErr_SetString(PyExc_RuntimeError, "the world is closed");
    else if (world->busy)
        PyErr_SetString(PyExc_RuntimeError, "the world is being used by another thread");
    else
        return 1;
    return 0;
}

/* Whether the world can be changed; sets an exception if not. A broken world can only be read. */
int world_usable(World *world)
{
    if (!world_ready(world))
        return 0;
    if (world->broken)
        PyErr_SetString(PyExc_RuntimeError, "the world is broken; create a new one");
    return !world->broken;
}
