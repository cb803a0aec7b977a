/* Recognition of the contacts of the last step: those of the same two groups, next to the same point.
 *
 * Contacts come and go, so their numbers change from step to step; what a contact leaves to the next
 * step would else often be taken for that of another one.
 */
#include "_core.h"

#include <math.h>
#include <string.h>

#define POINTS_PER_METRE 1e4
#define MAX_COORDINATE 2e9

static int group_number(dBodyID group)
{
    return group ? (int)(size_t)dBodyGetData(group) : 0;
}

static int table_size(int contacts)
{
    int size = 2;
    while (size < 2 * contacts)
        size *= 2;
    return size;
}

/* Make room in the hash table for the pairs of groups of so many contacts. Returns 0 when memory is
 * short. */
int memory_table_reserve(World *world, int capacity)
{
    int *table = realloc(world->memory_table, (size_t)table_size(capacity) * sizeof *table);
    if (!table)
        return 0;
    world->memory_table = table;
    return 1;
}

static int is_of(const ContactMemory *memory, const int groups[2])
{
    return memory->groups[0] == groups[0] && memory->groups[1] == groups[1];
}

/* Return the entry of a pair of groups, or the empty one where it belongs. */
static int *entry_of(const World *world, const int groups[2])
{
    const unsigned mask = (unsigned)world->memory_table_size - 1;
    unsigned i = (unsigned)groups[0] * 2654435761u + (unsigned)groups[1] * 2246822519u;
    for (i ^= i >> 15;; i++) {
        int *entry = &world->memory_table[i & mask];
        if (*entry < 0 || is_of(&world->memory_before[*entry], groups))
            return entry;
    }
}

/* List the pairs of groups of the contacts of the last step, which follow each other. */
void memory_table_fill(World *world, int count)
{
    world->memory_table_size = table_size(count);
    memset(world->memory_table, -1, (size_t)world->memory_table_size * sizeof(int));
    for (int i = count - 1; i >= 0; i--)
        *entry_of(world, world->memory_before[i].groups) = i;
    world->memory_count = count;
}

/* Set the groups of a contact, and its point in the frame of the first one. */
static void memory_init(ContactMemory *memory, const dReal p[3], dBodyID a, dBodyID b)
{
    const dBodyID first = a ? a : b;
    const dReal *origin = dBodyGetPosition(first);
    dReal arm[3], local[3];
    for (int i = 0; i < 3; i++)
        arm[i] = (p[i] - origin[i]) * POINTS_PER_METRE;
    unrotate4(local, dBodyGetRotation(first), arm);
    *memory = (ContactMemory){.groups = {group_number(first), a ? group_number(b) : 0}};
    for (int k = 0; k < 3; k++)
        memory->at[k] = fabs(local[k]) < MAX_COORDINATE ? (int)local[k] : 0;
}

static dReal distance_squared(const int a[3], const int b[3])
{
    dReal sum = 0.0;
    for (int k = 0; k < 3; k++) {
        dReal apart = (dReal)a[k] - b[k];
        sum += apart * apart;
    }
    return sum;
}

/* Find what the contact at a point left in the last step, and keep it by its current number. */
void memory_recall(World *world, int number, const dReal p[3], dBodyID a, dBodyID b)
{
    if (number >= world->candidate_limit)
        return;
    ContactMemory *now = &world->memory[number];
    const ContactMemory *nearest = NULL;
    dReal least = dInfinity;
    memory_init(now, p, a, b);
    if (number == 0 || !is_of(now - 1, now->groups))
        world->memory_first = *entry_of(world, now->groups);
    for (int i = world->memory_first; i >= 0 && i < world->memory_count; i++) {
        const ContactMemory *before = &world->memory_before[i];
        if (!is_of(before, now->groups))
            break;
        dReal distance = distance_squared(before->at, now->at);
        if (distance < least) {
            least = distance;
            nearest = before;
        }
    }
    if (nearest) {
        now->wait = nearest->wait;
        now->active = nearest->active;
        now->impulse = nearest->impulse;
        now->load = nearest->load;
        memcpy(now->slip, nearest->slip, sizeof now->slip);
    }
}
