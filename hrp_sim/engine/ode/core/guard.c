/* ODE's error handlers, the lock around ODE, and interrupts of long computations. */
#define _POSIX_C_SOURCE 200809L /* clocks, recursive mutexes */

#include "guard.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#define POLL_INTERVAL 0.05 /* [s] */

/* All worlds of a process share ODE's random numbers, job queue and triangle caches. So only one
 * thread may be in ODE at a time; two would crash or make runs differ. Reading the pose of a body
 * of one's own world needs no lock. The mutex is recursive: a call of PyODE may trigger garbage
 * collection, which may free a world. */
static pthread_mutex_t shared;

/* ODE aborts the process when its error handler returns, so the handler leaves by longjmp. */
_Thread_local jmp_buf *hrp_error_exit;
_Thread_local long hrp_message_count;
static _Thread_local char last_error[200];

static void on_error(int number, const char *message, va_list arguments)
{
    vsnprintf(last_error, sizeof last_error, message, arguments);
    if (hrp_error_exit)
        longjmp(*hrp_error_exit, 1);
    /* No jump target: ODE will abort the process, so report the error first. */
    fprintf(stderr, "ODE error %d: %s\n", number, last_error);
}

static void on_message(int number, const char *message, va_list arguments)
{
    (void)number, (void)message, (void)arguments;
    hrp_message_count++;
}

int hrp_handlers_install(void)
{
    pthread_mutexattr_t attributes;
    int failed = pthread_mutexattr_init(&attributes);
    if (!failed) {
        failed = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) ||
                 pthread_mutex_init(&shared, &attributes);
        pthread_mutexattr_destroy(&attributes);
    }
    if (failed)
        return 0;
    dSetErrorHandler(on_error);
    dSetDebugHandler(on_error);
    dSetMessageHandler(on_message);
    return 1;
}

void hrp_ode_lock(void)
{
    pthread_mutex_lock(&shared);
}

int hrp_ode_try_lock(void)
{
    return pthread_mutex_trylock(&shared) == 0;
}

void hrp_ode_unlock(void)
{
    pthread_mutex_unlock(&shared);
}

/* Run work with a jump target for ODE's errors. Returns 0 if an error left it. */
static int attempt(World *world, OdeWork *work, void *arguments)
{
    jmp_buf here, *outer = hrp_error_exit;
    volatile int done = 0;
    if (setjmp(here) == 0) {
        hrp_error_exit = &here;
        work(world, arguments);
        done = 1;
    }
    hrp_error_exit = outer;
    return done;
}

int hrp_guarded_collide(dGeomID a, dGeomID b, int max, dContactGeom *found, int stride)
{
    jmp_buf here, *outer = hrp_error_exit;
    long messages = hrp_message_count;
    volatile int count = -1;
    if (setjmp(here) == 0) {
        hrp_error_exit = &here;
        count = dCollide(a, b, max, found, stride);
    }
    hrp_error_exit = outer;
    hrp_message_count = messages;
    return count;
}

int hrp_is_interrupted(World *world)
{
    struct timespec clock;
    if (world->interrupt || !world->poll)
        return world->interrupt;
    clock_gettime(CLOCK_MONOTONIC, &clock);
    double now = (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
    if (now < world->next_poll)
        return 0;
    world->next_poll = now + POLL_INTERVAL;
    world->interrupt |= world->poll(world->poller);
    return world->interrupt;
}

int hrp_ode_run(World *world, OdeWork *work, void *arguments)
{
    hrp_ode_lock();
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    int done = attempt(world, work, arguments);
    hrp_ode_unlock();
    if (!done)
        world->broken = 1;
    return done;
}

const char *hrp_ode_last_error(void)
{
    return last_error;
}
