/* Sends serialized messages to ROS by a thread of its own, which never needs the GIL. */
#define _POSIX_C_SOURCE 200809L /* clocks */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>
#include <time.h>

#define CAPACITY 256             /* messages in the queue */
#define MAX_BYTES ((size_t)32 << 20) /* in the queue, before it accepts another message */
#define SLICE 0.1                /* [s] between looks for signals */
#define PAUSE 3e-4               /* [s] in which messages are gathered after each burst */
#define FOREVER 1e6              /* [s] */
#define NEVER UINT64_MAX

/* rcl_serialized_message_t; its allocator is not used. */
typedef struct {
    const uint8_t *buffer;
    size_t length, capacity;
    void *allocator[5];
} SerializedMessage;

typedef struct {
    char text[1024];
} ErrorString; /* rcutils_error_string_t */

/* Functions of rcl and rcutils: given as addresses, so that this is built without ROS. */
typedef int Publish(const void *publisher, const SerializedMessage *message, void *allocation);
typedef int CountSubscriptions(const void *publisher, size_t *count);
typedef ErrorString GetError(void);
typedef void ResetError(void);

typedef struct OutletObject OutletObject;

typedef struct {
    OutletObject *outlet;
    PyObject *data;
} Item;

/* Ring of messages: freed <= sent <= put count all that were ever released, sent and queued.
 * All but ``freed`` and the references, which the GIL guards, is guarded by the mutex; who takes
 * it holds it briefly, so that it may be taken with the GIL. */
typedef struct {
    PyObject_HEAD
    Publish *publish;
    CountSubscriptions *count_subscriptions;
    GetError *get_error;
    ResetError *reset_error;
    pthread_mutex_t mutex;
    pthread_cond_t wake;     /* the thread has something to do */
    pthread_cond_t progress; /* ``awaited`` was sent */
    pthread_t thread;
    int forks; /* of its process: one that was forked later has neither its thread nor its mutex */
    int is_closing, is_dropping, is_sending, is_idle, has_ended;
    uint64_t freed, sent, put, awaited;
    size_t bytes;
    Item ring[CAPACITY];
    char error[sizeof(ErrorString)];
} SenderObject;

struct OutletObject {
    PyObject_HEAD
    SenderObject *sender;
    const void *publisher;
    int is_closed, is_dropping;
    Py_ssize_t failed;
};

static int forks; /* that led from the first process to this one */

static void count_fork(void)
{
    forks++;
}

static struct timespec after(double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    double whole = (double)until.tv_nsec * 1e-9 + seconds;
    until.tv_sec += (time_t)whole;
    until.tv_nsec = (long)((whole - (double)(time_t)whole) * 1e9);
    return until;
}

/* Send the next message; called with the mutex, which is released meanwhile. */
static void send_next(SenderObject *sender)
{
    Item *item = &sender->ring[sender->sent % CAPACITY];
    OutletObject *outlet = item->outlet;
    size_t size = (size_t)PyBytes_GET_SIZE(item->data);
    int has_failed = sender->is_dropping || outlet->is_dropping;
    sender->is_sending = 1;
    if (!has_failed) {
        pthread_mutex_unlock(&sender->mutex);
        SerializedMessage message = {
            .buffer = (const uint8_t *)PyBytes_AS_STRING(item->data),
            .length = size,
            .capacity = size,
        };
        ErrorString error = {"unknown error"};
        has_failed = sender->publish(outlet->publisher, &message, NULL) != 0;
        if (has_failed && sender->get_error) {
            error = sender->get_error(); /* of this thread */
            sender->reset_error();
        }
        pthread_mutex_lock(&sender->mutex);
        if (has_failed) {
            memcpy(sender->error, error.text, sizeof sender->error);
            sender->error[sizeof sender->error - 1] = 0;
        }
    }
    outlet->failed += has_failed;
    sender->bytes -= size;
    sender->sent++;
    sender->is_sending = 0;
    if (sender->sent >= sender->awaited) {
        sender->awaited = NEVER;
        pthread_cond_broadcast(&sender->progress);
    }
}

static void wake(SenderObject *sender)
{
    if (sender->is_idle) {
        sender->is_idle = 0;
        pthread_cond_signal(&sender->wake);
    }
}

static void *work(void *argument)
{
    SenderObject *sender = argument;
    int has_paused = 1;
    pthread_mutex_lock(&sender->mutex);
    for (;;) {
        if (sender->sent != sender->put && !sender->is_sending) {
            send_next(sender);
            has_paused = 0;
        } else if (sender->is_closing && sender->sent == sender->put) {
            break;
        } else if (!has_paused) { /* so that who puts a burst of messages wakes it once */
            struct timespec until = after(PAUSE);
            pthread_cond_timedwait(&sender->wake, &sender->mutex, &until);
            has_paused = 1;
        } else {
            sender->is_idle = 1;
            pthread_cond_wait(&sender->wake, &sender->mutex);
            sender->is_idle = 0;
        }
    }
    pthread_mutex_unlock(&sender->mutex);
    return NULL;
}

/* Wait until so many messages were sent, or a time; called with the mutex and without the GIL. */
static int await(SenderObject *sender, uint64_t target, const struct timespec *until)
{
    int has_timed_out = 0;
    while (sender->sent < target && !has_timed_out) {
        sender->awaited = target < sender->awaited ? target : sender->awaited;
        has_timed_out = pthread_cond_timedwait(&sender->progress, &sender->mutex, until) != 0;
    }
    return sender->sent >= target;
}

/* Send what is queued, in this thread if the other is not just sending. The same conditions. */
static int drain(SenderObject *sender, const struct timespec *until)
{
    uint64_t target = sender->put;
    struct timespec now;
    int is_in_time = 1;
    while (sender->sent < target && is_in_time) {
        if (sender->is_sending)
            await(sender, sender->sent + 1, until);
        else
            send_next(sender);
        clock_gettime(CLOCK_MONOTONIC, &now);
        is_in_time = now.tv_sec < until->tv_sec ||
                     (now.tv_sec == until->tv_sec && now.tv_nsec < until->tv_nsec);
    }
    if (sender->sent != sender->put)
        wake(sender);
    return sender->sent >= target;
}

/* Release the messages that were sent; called with the GIL. */
static void release_sent(SenderObject *sender)
{
    pthread_mutex_lock(&sender->mutex);
    uint64_t sent = sender->sent;
    pthread_mutex_unlock(&sender->mutex);
    while (sender->freed < sent) {
        Item item = sender->ring[sender->freed++ % CAPACITY];
        Py_DECREF(item.data);
        Py_DECREF((PyObject *)item.outlet);
    }
}

/* Send what is queued within a time [s]; return whether that was possible, else set ``drop``. */
static int drain_or_drop(SenderObject *sender, double patience, int *drop)
{
    int is_done;
    Py_BEGIN_ALLOW_THREADS
    struct timespec until = after(patience);
    pthread_mutex_lock(&sender->mutex);
    is_done = drain(sender, &until);
    if (!is_done && drop) {
        *drop = 1;
        until = after(FOREVER); /* the middleware still uses the message that it is sending */
        if (sender->is_sending)
            await(sender, sender->sent + 1, &until);
    }
    pthread_mutex_unlock(&sender->mutex);
    Py_END_ALLOW_THREADS
    release_sent(sender);
    return is_done;
}

static PyObject *sender_new(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(keywords))
{
    unsigned long long publish, count, get_error = 0, reset_error = 0;
    if (!PyArg_ParseTuple(arguments, "KK|KK", &publish, &count, &get_error, &reset_error))
        return NULL;
    SenderObject *self = (SenderObject *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->publish = (Publish *)(uintptr_t)publish;
    self->count_subscriptions = (CountSubscriptions *)(uintptr_t)count;
    self->get_error = (GetError *)(uintptr_t)get_error;
    self->reset_error = (ResetError *)(uintptr_t)reset_error;
    self->awaited = NEVER;
    self->forks = forks;
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->wake, &steady);
    pthread_cond_init(&self->progress, &steady);
    pthread_condattr_destroy(&steady);
    if (pthread_create(&self->thread, NULL, work, self)) {
        self->has_ended = 1;
        Py_DECREF((PyObject *)self);
        PyErr_SetString(PyExc_RuntimeError, "there can be no further thread");
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *sender_flush(SenderObject *self, PyObject *arguments)
{
    double patience;
    if (!PyArg_ParseTuple(arguments, "d", &patience))
        return NULL;
    if (self->is_closing || self->forks != forks)
        Py_RETURN_FALSE;
    drain_or_drop(self, patience, NULL);
    Py_RETURN_TRUE;
}

/* End the thread; return whether all messages were sent within a time [s]. */
static int end(SenderObject *self, double patience)
{
    if (self->has_ended)
        return 1;
    self->has_ended = 1;
    if (self->forks != forks)
        return 1;
    pthread_mutex_lock(&self->mutex);
    self->is_closing = 1;
    wake(self);
    pthread_mutex_unlock(&self->mutex);
    int is_done = drain_or_drop(self, patience, &self->is_dropping);
    pthread_mutex_lock(&self->mutex);
    wake(self); /* it may have waited while this thread was sending */
    pthread_mutex_unlock(&self->mutex);
    Py_BEGIN_ALLOW_THREADS
    pthread_join(self->thread, NULL);
    Py_END_ALLOW_THREADS
    release_sent(self);
    return is_done;
}

static PyObject *sender_close(SenderObject *self, PyObject *arguments)
{
    double patience;
    if (!PyArg_ParseTuple(arguments, "d", &patience))
        return NULL;
    return PyBool_FromLong(end(self, patience));
}

static PyObject *sender_error(SenderObject *self, void *Py_UNUSED(closure))
{
    char text[sizeof self->error];
    if (self->forks != forks)
        return PyUnicode_FromString("");
    pthread_mutex_lock(&self->mutex);
    memcpy(text, self->error, sizeof text);
    pthread_mutex_unlock(&self->mutex);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static void sender_dealloc(SenderObject *self)
{
    end(self, 0.0);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *outlet_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords);

static PyObject *outlet_put(OutletObject *self, PyObject *data)
{
    SenderObject *sender = self->sender;
    if (!PyBytes_CheckExact(data))
        return PyErr_Format(PyExc_TypeError, "a message must be bytes, not %s",
                            Py_TYPE(data)->tp_name);
    if (sender->forks != forks)
        Py_RETURN_FALSE;
    for (;;) {
        release_sent(sender);
        pthread_mutex_lock(&sender->mutex);
        if (self->is_closed || sender->is_closing) {
            pthread_mutex_unlock(&sender->mutex);
            Py_RETURN_FALSE;
        }
        if (sender->put - sender->freed < CAPACITY && sender->bytes <= MAX_BYTES)
            break;
        pthread_mutex_unlock(&sender->mutex);
        Py_BEGIN_ALLOW_THREADS /* until half of it was sent, so that the threads seldom switch */
        struct timespec until = after(SLICE);
        pthread_mutex_lock(&sender->mutex);
        await(sender, sender->sent + (sender->put - sender->sent + 1) / 2, &until);
        pthread_mutex_unlock(&sender->mutex);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals())
            return NULL;
    }
    Py_INCREF(data);
    Py_INCREF((PyObject *)self);
    sender->ring[sender->put++ % CAPACITY] = (Item){self, data};
    sender->bytes += (size_t)PyBytes_GET_SIZE(data);
    wake(sender);
    pthread_mutex_unlock(&sender->mutex);
    Py_RETURN_TRUE;
}

/* Return the number of subscribers; 0 if outlet or sender are closed. */
static size_t subscriptions(const OutletObject *self)
{
    SenderObject *sender = self->sender;
    size_t count = 0;
    if (self->is_closed || sender->is_closing || sender->forks != forks)
        return 0;
    if (sender->count_subscriptions(self->publisher, &count) && sender->reset_error) {
        sender->reset_error();
        return 0;
    }
    return count;
}

static PyObject *outlet_count(OutletObject *self, PyObject *Py_UNUSED(none))
{
    return PyLong_FromSize_t(subscriptions(self));
}

static PyObject *outlet_has_subscribers(OutletObject *self, PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(subscriptions(self) > 0);
}

static PyObject *outlet_close(OutletObject *self, PyObject *arguments)
{
    double patience;
    if (!PyArg_ParseTuple(arguments, "d", &patience))
        return NULL;
    if (self->sender->forks != forks)
        Py_RETURN_TRUE;
    pthread_mutex_lock(&self->sender->mutex);
    self->is_closed = 1;
    pthread_mutex_unlock(&self->sender->mutex);
    return PyBool_FromLong(drain_or_drop(self->sender, patience, &self->is_dropping));
}

static void outlet_dealloc(OutletObject *self)
{
    Py_DECREF((PyObject *)self->sender);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef sender_methods[] = {
    {"flush", (PyCFunction)sender_flush, METH_VARARGS, NULL},
    {"close", (PyCFunction)sender_close, METH_VARARGS, NULL},
    {0},
};
static PyGetSetDef sender_properties[] = {
    {"error", (getter)sender_error, NULL, NULL, NULL},
    {0},
};
static PyMethodDef outlet_methods[] = {
    {"put", (PyCFunction)outlet_put, METH_O, NULL},
    {"subscriptions", (PyCFunction)outlet_count, METH_NOARGS, NULL},
    {"has_subscribers", (PyCFunction)outlet_has_subscribers, METH_NOARGS, NULL},
    {"close", (PyCFunction)outlet_close, METH_VARARGS, NULL},
    {0},
};
static PyMemberDef outlet_members[] = {
    {"failed", T_PYSSIZET, offsetof(OutletObject, failed), READONLY, NULL},
    {0},
};

#define TYPE(Name, name, ...) \
    static PyTypeObject Name##Type = { \
        PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hrp_msgs.node._sender." #Name, \
        .tp_basicsize = sizeof(Name##Object), \
        .tp_flags = Py_TPFLAGS_DEFAULT, \
        .tp_new = name##_new, \
        .tp_dealloc = (destructor)name##_dealloc, \
        .tp_methods = name##_methods, \
        __VA_ARGS__, \
    }

TYPE(Sender, sender, .tp_getset = sender_properties);
TYPE(Outlet, outlet, .tp_members = outlet_members);

static PyObject *outlet_new(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(keywords))
{
    SenderObject *sender;
    unsigned long long publisher;
    if (!PyArg_ParseTuple(arguments, "O!K", &SenderType, &sender, &publisher))
        return NULL;
    if (sender->is_closing)
        return PyErr_Format(PyExc_RuntimeError, "the sender is closed");
    OutletObject *self = (OutletObject *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    Py_INCREF((PyObject *)sender);
    self->sender = sender;
    self->publisher = (const void *)(uintptr_t)publisher;
    return (PyObject *)self;
}

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hrp_msgs.node._sender",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__sender(void)
{
    if (pthread_atfork(NULL, NULL, count_fork))
        return PyErr_NoMemory();
    PyObject *made = PyModule_Create(&module);
    if (!made || PyModule_AddType(made, &SenderType) || PyModule_AddType(made, &OutletType)) {
        Py_XDECREF(made);
        return NULL;
    }
    return made;
}
