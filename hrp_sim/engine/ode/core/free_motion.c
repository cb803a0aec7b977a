/* Free motion of rigid bodies, half a step before and half a step after the forces of the step.
 *
 * A step from t to t + h moves the bodies freely to t + h/2, changes their momenta there by all
 * forces and constraints, and moves them freely to t + h (Verlet's method, or SHAKE with joints).
 * This is symplectic Euler on the midpoints of the steps, as stable, but of second order. Forces
 * act in one posture, and no gyroscopic torque is among them: free motion conserves the angular
 * momentum, not the angular velocity. So angular momentum is conserved up to rounding, also of
 * bodies connected by joints. (J.-P. Ryckaert et al., J. Comput. Phys. 23, 1977; for the turning,
 * A. Dullweber et al., Symplectic splitting methods for rigid body molecular dynamics, J. Chem.
 * Phys. 107, 1997.)
 */
#include "free_motion.h"
#include "drive.h"
#include "state.h"

#include <math.h>
#include <string.h>

#define SAME_MOMENTS 1e-9  /* relative difference up to which moments of inertia are equal */
#define MAX_PRECESSION 0.5 /* of a body with joints in half a step, in [rad] */
#define SMALL_ANGLE 0.05   /* up to which a short series has no error, in [rad] */

/* Zero one product of inertia by a rotation of axes i and j: a step of Jacobi's method. */
static void jacobi_rotate(dReal A[3][3], dReal axis[3][3], int i, int j)
{
    if (A[i][j] == 0.0)
        return;
    dReal ratio = (A[j][j] - A[i][i]) / (2.0 * A[i][j]);
    dReal t = copysign(1.0, ratio) / (fabs(ratio) + hypot(ratio, 1.0));
    dReal c = 1.0 / hypot(t, 1.0), s = t * c;
    for (int k = 0; k < 3; k++) {
        dReal at_i = A[k][i], at_j = A[k][j], of_i = axis[i][k], of_j = axis[j][k];
        A[k][i] = c * at_i - s * at_j;
        A[k][j] = s * at_i + c * at_j;
        axis[i][k] = c * of_i - s * of_j;
        axis[j][k] = s * of_i + c * of_j;
    }
    for (int k = 0; k < 3; k++) {
        dReal at_i = A[i][k], at_j = A[j][k];
        A[i][k] = c * at_i - s * at_j;
        A[j][k] = s * at_i + c * at_j;
    }
    A[i][j] = A[j][i] = 0.0;
}

/* Exchange two principal axes. */
static void axes_swap(Spin *spin, int i, int j)
{
    dReal moment = spin->moment[i], axis[3];
    spin->moment[i] = spin->moment[j];
    spin->moment[j] = moment;
    memcpy(axis, spin->axis[i], sizeof axis);
    memcpy(spin->axis[i], spin->axis[j], sizeof axis);
    memcpy(spin->axis[j], axis, sizeof axis);
}

/* The difference of two inverse moments, exactly zero if the moments are nearly equal. */
static dReal excess(dReal moment, dReal middle)
{
    return fabs(moment - middle) <= SAME_MOMENTS * middle ? 0.0 : 1.0 / moment - 1.0 / middle;
}

void hrp_spin_init(Spin *spin, const dMass *mass)
{
    dReal A[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            A[i][k] = mass->I[4 * i + k];
            spin->axis[i][k] = i == k;
        }
    for (int sweep = 0; sweep < 8; sweep++) /* converges quadratically, so 5 are enough */
        for (int i = 0; i < 3; i++)
            jacobi_rotate(A, spin->axis, i / 2, 1 + (i + 1) / 2);
    for (int i = 0; i < 3; i++)
        spin->moment[i] = A[i][i];
    for (int i = 0; i < 3; i++)
        if (spin->moment[i % 2] > spin->moment[i % 2 + 1])
            axes_swap(spin, i % 2, i % 2 + 1);
    cross3(spin->axis[2], spin->axis[0], spin->axis[1]);
    spin->first = excess(spin->moment[0], spin->moment[1]);
    spin->last = excess(spin->moment[2], spin->moment[1]);
}

static void sine_cosine(dReal angle, dReal *sine, dReal *cosine)
{
    dReal x2 = angle * angle;
    if (x2 > SMALL_ANGLE * SMALL_ANGLE) {
        *sine = sin(angle);
        *cosine = cos(angle);
        return;
    }
    *sine = angle * (1.0 - x2 / 6.0 * (1.0 - x2 / 20.0 * (1.0 - x2 / 42.0)));
    *cosine = 1.0 - x2 / 2.0 * (1.0 - x2 / 12.0 * (1.0 - x2 / 30.0 * (1.0 - x2 / 56.0)));
}

/* Multiply two quaternions (w, x, y, z). */
static inline void multiply(dReal out[4], const dReal a[4], const dReal b[4])
{
    out[0] = a[0] * b[0] - (a[1] * b[1] + a[2] * b[2] + a[3] * b[3]);
    out[1] = a[0] * b[1] + b[0] * a[1] + (a[2] * b[3] - a[3] * b[2]);
    out[2] = a[0] * b[2] + b[0] * a[2] + (a[3] * b[1] - a[1] * b[3]);
    out[3] = a[0] * b[3] + b[0] * a[3] + (a[1] * b[2] - a[2] * b[1]);
}

/* Set the orientation of a group from a quaternion of about unit length. */
static inline void set_orientation(const Motion *motion, const dReal q[4])
{
    dReal *R = motion->R, *unit = motion->quaternion;
    const dReal scale = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    const dReal w = scale * q[0], x = scale * q[1], y = scale * q[2], z = scale * q[3];
    const dReal xx = 2.0 * x * x, yy = 2.0 * y * y, zz = 2.0 * z * z;
    unit[0] = w;
    unit[1] = x;
    unit[2] = y;
    unit[3] = z;
    R[0] = 1.0 - yy - zz;
    R[1] = 2.0 * (x * y - w * z);
    R[2] = 2.0 * (x * z + w * y);
    R[4] = 2.0 * (x * y + w * z);
    R[5] = 1.0 - xx - zz;
    R[6] = 2.0 * (y * z - w * x);
    R[8] = 2.0 * (x * z - w * y);
    R[9] = 2.0 * (y * z + w * x);
    R[10] = 1.0 - xx - yy;
}

/* Return the components of a vector in axes that turn from y to z by twice an angle, of which the
 * sine and cosine are given. */
static void components_turn(dReal *y, dReal *z, dReal sine, dReal cosine)
{
    dReal s = 2.0 * sine * cosine, c = (cosine - sine) * (cosine + sine), before = *y;
    *y = c * before + s * *z;
    *z = c * *z - s * before;
}

/* Compute how a body with momentum P in its principal axes deviates within a time from a spherical
 * top: a quaternion, in these axes. */
static void deviation(const Spin *spin, dReal P[3], dReal time, dReal out[4])
{
    dReal sa, ca, sb, cb, sc, cc; /* of the halves of the three angles */
    sine_cosine(spin->first * P[0] * time / 4.0, &sa, &ca);
    components_turn(&P[1], &P[2], sa, ca);
    sine_cosine(spin->last * P[2] * time / 2.0, &sb, &cb);
    components_turn(&P[0], &P[1], sb, cb);
    sine_cosine(spin->first * P[0] * time / 4.0, &sc, &cc);
    out[0] = cb * (ca * cc - sa * sc);
    out[1] = cb * (sa * cc + ca * sc);
    out[2] = sb * (ca * sc - sa * cc);
    out[3] = sb * (ca * cc + sa * sc);
}

/* Turn a body further, about one of its principal axes. */
static void turn_further(dReal own[4], int axis, dReal angle)
{
    dReal before[4], about[4] = {0.0};
    memcpy(before, own, sizeof before);
    sine_cosine(angle / 2.0, &about[1 + axis], &about[0]);
    multiply(own, before, about);
}

/* Set the angular velocity with which a group has the angular momentum L. */
static void set_momentum(const Motion *motion, const Spin *spin, const dReal L[3])
{
    dReal w[3] = {0.0}, axis[3];
    for (int i = 0; i < 3; i++) {
        rotate4(axis, motion->R, spin->axis[i]);
        dReal rate = dot3(axis, L) / spin->moment[i];
        for (int k = 0; k < 3; k++)
            w[k] += rate * axis[k];
    }
    memcpy(motion->w, w, sizeof w);
}

/* Turn a group freely for a time.
 *
 * The energy of a spin with the momentum P in principal axes is, with moments A <= B <= C,
 *
 *     P.P / 2B + (1/A - 1/B) P_1^2 / 2 + (1/C - 1/B) P_3^2 / 2.
 *
 * Each term alone gives a rotation, of the first about the momentum, of the others about a
 * principal axis. They are composed symmetrically, which is symplectic, of second order, and exact
 * if two moments are equal. There is nothing to iterate, and no spin is too fast. The momentum L
 * in W remains exactly, since the angular velocity is computed from it.
 *
 * Joints hold the axis of a fast wheel by a velocity in each middle of a step, which must not have
 * turned too far in the next: where joints hold a body, the precession is limited, and the body
 * turns about its own axis by the rest.
 */
static void turn_freely(const Motion *motion, const Spin *spin, dBodyID group,
                        const GroupState *from, dReal time)
{
    const int is_sphere = spin->first == 0.0 && spin->last == 0.0;
    dReal axis[3][3], P[3], L[3] = {0.0}, sine, cosine, own[4], in_W[4], q[4];
    for (int i = 0; i < 3; i++) {
        rotate4(axis[i], from->R, spin->axis[i]);
        P[i] = spin->moment[i] * dot3(axis[i], motion->w);
        for (int k = 0; k < 3; k++)
            L[k] += P[i] * axis[i][k];
    }
    dReal size = sqrt(dot3(L, L)), angle = size / spin->moment[1] * time, lag = 0.0;
    if (!(angle > 0.0)) {
        set_orientation(motion, from->quaternion);
        return;
    }
    if (angle > MAX_PRECESSION && !is_sphere && dBodyGetNumJoints(group) > 0)
        lag = angle - MAX_PRECESSION;
    sine_cosine((angle - lag) / 2.0, &sine, &cosine);
    sine /= size;
    const dReal about_L[4] = {cosine, sine * L[0], sine * L[1], sine * L[2]};
    if (is_sphere) { /* the angular velocity stays */
        multiply(q, about_L, from->quaternion);
        set_orientation(motion, q);
        return;
    }
    int fastest = fabs(P[0]) > fabs(P[2]) ? 0 : 2;
    dReal lag_about_axis = lag * P[fastest] / size;
    deviation(spin, P, time, own);
    if (lag > 0.0)
        turn_further(own, fastest, lag_about_axis);
    in_W[0] = own[0];
    for (int k = 0; k < 3; k++)
        in_W[1 + k] = own[1] * axis[0][k] + own[2] * axis[1][k] + own[3] * axis[2][k];
    multiply(own, about_L, in_W);
    multiply(q, own, from->quaternion);
    set_orientation(motion, q);
    set_momentum(motion, spin, L);
}

/* Move a group freely from a pose for a time, with its current velocity. */
static void group_drift(const Body *body, int g, const GroupState *from, dReal time)
{
    const Motion *motion = &body->motion[g];
    for (int i = 0; i < 3; i++)
        motion->p[i] = from->p[i] + motion->v[i] * time;
    turn_freely(motion, &body->spin[g], body->group[g], from, time);
}

void hrp_drift_to_middle(World *world, Body *body)
{
    dReal half = world->step / 2.0;
    for (int j = 0; j < body->joints; j++)
        body->joint[j].drift = -hrp_joint_rate(body, &body->joint[j]);
    for (int g = 0; g < body->groups; g++) {
        group_drift(body, g, &body->saved[g], half);
        hrp_pose_save(&body->motion[g], &body->middle[g]);
    }
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        joint->drift += hrp_joint_rate(body, joint);
        hrp_joint_read_position(body, joint, half);
    }
}

/* Move a body from the middle of a step, with the velocities that result from the step, to its
 * end.
 *
 * The rate of a joint at the end is taken to differ from that in the middle by as much as the one
 * at the start did. Rotors and drives refer to it: their impulses in the step are then exactly
 * those of the rates reported.
 */
void hrp_drift_to_end(World *world, Body *body)
{
    dReal half = world->step / 2.0;
    for (int g = 0; g < body->groups; g++) {
        const GroupState *middle = &body->middle[g];
        memcpy(body->motion[g].p, middle->p, sizeof middle->p);
        memcpy(body->motion[g].R, middle->R, sizeof middle->R);
    }
    for (int j = 0; j < body->joints; j++)
        body->joint[j].now.dq = hrp_joint_rate(body, &body->joint[j]) + body->joint[j].drift;
    for (int g = 0; g < body->groups; g++)
        group_drift(body, g, &body->middle[g], half);
    for (int j = 0; j < body->joints; j++)
        hrp_joint_read_position(body, &body->joint[j], half);
}
