/* What keeps ODE from ending the process: its error handlers, and bounds for one step. */
#include "_core.h"

#include <pthread.h>

/* The worlds of a process share random numbers, the queue of a step's jobs and caches of triangles
 * in ODE. So one thread is in ODE at a time; two at once would crash, and not repeat. Reading where
 * a body of one's own world is needs no lock. The mutex is recursive: a call of PyODE may collect
 * garbage, and so free a world. */
static pthread_mutex_t shared;

/* ODE ends the process when its error handler returns: leave what it was doing instead. */
_Thread_local jmp_buf *way_out;
_Thread_local long complaints;
static _Thread_local char last_words[200];

static void on_error(int number, const char *message, va_list arguments)
{
    vsnprintf(last_words, sizeof last_words, message, arguments);
    if (way_out)
        longjmp(*way_out, 1);
    /* There is nowhere to go: ODE ends the process, but not without a word. */
    fprintf(stderr, "ODE error %d: %s\n", number, last_words);
}

static void on_message(int number, const char *message, va_list arguments)
{
    (void)number, (void)message, (void)arguments;
    complaints++;
}

/* Take over ODE's handlers: errors leave by the way out, messages are counted. Returns -1 with an
 * exception set. */
int guards_install(void)
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

/* Wait until no other thread is in ODE. The caller must not hold the GIL, which the thread that is
 * in ODE may need. */
void ode_enter(void)
{
    pthread_mutex_lock(&shared);
}

/* Like ode_enter, for a caller that holds the GIL: it is released while waiting. */
void ode_enter_with_gil(void)
{
    if (pthread_mutex_trylock(&shared) == 0)
        return;
    Py_BEGIN_ALLOW_THREADS
    ode_enter();
    Py_END_ALLOW_THREADS
}

void ode_leave(void)
{
    pthread_mutex_unlock(&shared);
}

/* Run work with a way out for ODE's errors. Returns 0 if it was left in the middle. */
static int attempt(World *world, OdeWork *work, void *arguments)
{
    jmp_buf here, *outer = way_out;
    volatile int done = 0;
    if (setjmp(here) == 0) {
        way_out = &here;
        work(world, arguments);
        done = 1;
    }
    way_out = outer;
    return done;
}

/* Run work in ODE, without the GIL; the world is busy meanwhile. Work must not own memory that
 * only its local variables know: an error of ODE leaves it by longjmp. Returns 0 in that case;
 * the world is then broken, since the memory of ODE is not to be trusted. */
int ode_run(World *world, OdeWork *work, void *arguments)
{
    int done;
    world->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    ode_enter();
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    done = attempt(world, work, arguments);
    ode_leave();
    Py_END_ALLOW_THREADS
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
        PyErr_Format(PyExc_RuntimeError, "ODE failed: %s", last_words);
    return done;
}

/* Return an upper bound of the constraint rows of a joint. */
static long rows_of(dJointID joint)
{
    return dJointGetType(joint) == dJointTypeContact ? 3 : 6;
}

/* A walk over the bodies that joints tie together. Who was seen carries the walk as a mark. */
typedef struct {
    dBodyID *waiting;
    size_t count;
} Walk;

static void walk_to(Walk *walk, dBodyID group)
{
    if (!group || dBodyGetData(group) == walk)
        return;
    dBodySetData(group, walk);
    walk->waiting[walk->count++] = group;
}

/* Return the rows of the island of a body, each counted at both ends, so twice; no more than
 * necessary once there are too many. */
static long island_rows(Walk *walk, dBodyID first)
{
    long twice = 0;
    for (walk_to(walk, first); walk->count && twice <= 2 * MOST_ROWS;) {
        dBodyID group = walk->waiting[--walk->count];
        int joints = dBodyGetNumJoints(group);
        for (int k = 0; k < joints && twice <= 2 * MOST_ROWS; k++) {
            dJointID joint = dBodyGetJoint(group, k);
            dBodyID a = dJointGetBody(joint, 0), b = dJointGetBody(joint, 1);
            twice += rows_of(joint) * (a && b ? 1 : 2);
            walk_to(walk, a);
            walk_to(walk, b);
        }
    }
    return twice;
}

/* Returns 0 and describes the fault when an island has too many rows for WorldStep. */
static int islands_check(World *world, size_t groups, Fault *fault)
{
    Walk walk = {malloc(sizeof(dBodyID) * groups), 0};
    if (!walk.waiting) {
        *fault = (Fault){.kind = FAULT_SOLVER};
        return 0;
    }
    for (int i = 0; i < world->count && fault->kind == FAULT_NONE; i++) {
        const Body *body = world->bodies[i];
        for (int g = 0; g < body->groups && fault->kind == FAULT_NONE; g++)
            if (dBodyGetData(body->group[g]) != &walk &&
                island_rows(&walk, body->group[g]) > 2 * MOST_ROWS)
                *fault = (Fault){.kind = FAULT_ROWS, .body = body->id, .index = g};
    }
    for (int i = 0; i < world->count; i++)
        for (int g = 0; g < world->bodies[i]->groups; g++)
            dBodySetData(world->bodies[i]->group[g], NULL);
    free(walk.waiting);
    return fault->kind == FAULT_NONE;
}

/* Returns 0 and describes the fault when the step to come would take more memory and time than
 * anybody has: WorldStep's matrices grow with the square of an island's rows. */
int crowd_check(World *world, Fault *fault)
{
    size_t groups = 0;
    long rows = 3 * world->contacts;
    if (world->contacts >= MOST_CONTACTS) {
        *fault = (Fault){.kind = FAULT_CONTACTS, .body = world->crowded_body,
                         .index = world->crowded_link};
        return 0;
    }
    for (int i = 0; i < world->count; i++) {
        const Body *body = world->bodies[i];
        groups += (size_t)body->groups;
        rows += 12L * body->joints + 6L * body->loops; /* a joint and its motor */
    }
    return world->quick || rows <= MOST_ROWS || islands_check(world, groups, fault);
}
