/* Vectors of 3; matrices have rows of 3 (numpy) or 4 (ODE). */
#ifndef HRP_SIM_ODE_VECTORS_H
#define HRP_SIM_ODE_VECTORS_H

#if !__has_include(<ode/ode.h>)
#error "the headers of ODE are missing: apt install libode-dev"
#endif
#include <ode/ode.h>

#ifndef dDOUBLE
#error "the arrays are float64: ODE must be built with double precision"
#endif

/* Two numbers side by side: compilers do not find by themselves where two of them can be computed
 * at once. */
typedef dReal Lanes
    __attribute__((vector_size(2 * sizeof(dReal)), aligned(sizeof(dReal)), may_alias));
/* Likewise four, for functions that are WIDE. */
#pragma GCC diagnostic ignored "-Wpsabi" /* no function that is called as one passes them */
typedef dReal Quad
    __attribute__((vector_size(4 * sizeof(dReal)), aligned(sizeof(dReal)), may_alias));

/* A function that is compiled twice, also for processors with AVX2, which take the second one. It
 * computes the same there, as no products and sums are contracted, see setup.py. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif
#define INLINE static inline __attribute__((always_inline)) /* as WIDE as its caller */

INLINE dReal sum_of(Quad a)
{
    return (a[0] + a[1]) + (a[2] + a[3]);
}

static inline void rotate3(dReal out[3], const dReal *R9, const dReal v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = R9[3 * i] * v[0] + R9[3 * i + 1] * v[1] + R9[3 * i + 2] * v[2];
}
static inline void rotate4(dReal out[3], const dReal *R12, const dReal v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = R12[4 * i] * v[0] + R12[4 * i + 1] * v[1] + R12[4 * i + 2] * v[2];
}
static inline void unrotate4(dReal out[3], const dReal *R12, const dReal v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = R12[i] * v[0] + R12[4 + i] * v[1] + R12[8 + i] * v[2];
}
static inline void cross3(dReal out[3], const dReal a[3], const dReal b[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}
static inline dReal dot3(const dReal a[3], const dReal b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
/* Inline comparisons: fmin and fmax are function calls. */
static inline dReal min_real(dReal a, dReal b)
{
    return b < a ? b : a;
}
static inline dReal max_real(dReal a, dReal b)
{
    return b > a ? b : a;
}
static inline dReal clamp(dReal value, dReal lower, dReal upper)
{
    return value < lower ? lower : value > upper ? upper : value;
}
static inline void to_matrix12(dReal *R12, const dReal *R9)
{
    for (int i = 0; i < 3; i++) {
        R12[4 * i] = R9[3 * i];
        R12[4 * i + 1] = R9[3 * i + 1];
        R12[4 * i + 2] = R9[3 * i + 2];
        R12[4 * i + 3] = 0.0;
    }
}

#endif
