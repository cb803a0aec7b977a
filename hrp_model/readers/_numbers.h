/* Read decimal numbers from text, rounded as by Python's float(). */
#ifndef HRP_MODEL_NUMBERS_H
#define HRP_MODEL_NUMBERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <stdint.h>

static inline int is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Read the longest [+-]? (digits [. digits*] | . digits) ([eE] [+-]? digits)? at `p`.
 *
 * The text must end with a character that is not part of a number, such as NUL. Returns the
 * character after the number; `p` itself if there is no number; NULL with an exception set.
 */
static inline const char *read_number(const char *p, double *value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *start = p, *first, *end;
    uint64_t digits = 0; /* all digits as one integer; wraps around if there are many */
    long scale = 0;      /* the value is digits * 10^scale */
    Py_ssize_t count;
    int negative = *p == '-';
    p += negative || *p == '+';
    for (first = p; is_digit(*p); p++)
        digits = digits * 10 + (uint64_t)(*p - '0');
    count = p - first;
    if (*p == '.') {
        const char *point = p++;
        for (; is_digit(*p); p++)
            digits = digits * 10 + (uint64_t)(*p - '0');
        scale = -(long)(p - point - 1);
        count += p - point - 1;
    }
    if (count == 0)
        return start;
    end = p;
    if (*p == 'e' || *p == 'E') {
        long exponent = 0;
        int below = *++p == '-';
        p += below || *p == '+';
        if (is_digit(*p)) {
            for (; is_digit(*p); p++)
                exponent = exponent < 100000 ? exponent * 10 + (*p - '0') : exponent;
            scale += below ? -exponent : exponent;
            end = p;
        }
    }
#if FLT_EVAL_METHOD == 0
    /* Both factors are exact, so the one product or quotient is rounded right (W. D. Clinger,
     * "How to read floating point numbers accurately", 1990). */
    if (count <= 19 && digits <= (uint64_t)1 << 53 && scale >= -22 && scale <= 22) {
        double v = scale < 0 ? (double)digits / tens[-scale] : (double)digits * tens[scale];
        *value = negative ? -v : v;
        return end;
    }
#else
    (void)digits, (void)tens;
#endif
    char *stop; /* equal to `end` */
    *value = PyOS_string_to_double(start, &stop, NULL);
    return *value == -1.0 && PyErr_Occurred() ? NULL : end;
}

/* A growing bytes object with an array of numbers. */
typedef struct {
    PyObject *bytes;
    Py_ssize_t used;
} Buffer;

/* Return a pointer to space for the next `size` bytes; NULL with an exception set. */
static inline void *buffer_take(Buffer *buffer, Py_ssize_t size)
{
    Py_ssize_t room = buffer->bytes ? PyBytes_GET_SIZE(buffer->bytes) : 0;
    if (room - buffer->used < size) {
        Py_ssize_t wanted = room + room / 2 + 16 * size;
        if (buffer->bytes ? _PyBytes_Resize(&buffer->bytes, wanted) < 0
                          : !(buffer->bytes = PyBytes_FromStringAndSize(NULL, wanted)))
            return NULL; /* the object has been released */
    }
    buffer->used += size;
    return PyBytes_AS_STRING(buffer->bytes) + buffer->used - size;
}

/* Return the bytes in use as a new reference and empty the buffer; NULL with an exception set. */
static inline PyObject *buffer_finish(Buffer *buffer)
{
    PyObject *bytes = buffer->bytes;
    Py_ssize_t used = buffer->used;
    buffer->bytes = NULL;
    buffer->used = 0;
    if (!bytes)
        return PyBytes_FromStringAndSize(NULL, 0);
    if (PyBytes_GET_SIZE(bytes) != used)
        _PyBytes_Resize(&bytes, used); /* NULL after an error */
    return bytes;
}

static inline void buffer_drop(Buffer *buffer)
{
    Py_CLEAR(buffer->bytes);
    buffer->used = 0;
}

#endif
