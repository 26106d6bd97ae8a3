/* SPDX-License-Identifier: Apache-2.0 */
#include "base/same.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "base/hash.h"

enum { VALUE = 120, PLACES = SPMM_MOST_SAME + 1 };

/** A call in words of one size, whatever it is; the first one is its name. */
typedef struct {
    uint64_t word[PLACES];
} digest_t;

static uint64_t word_of(const spmm_same_t *argument)
{
    uint64_t word = (uint64_t)argument->whole;

    if (argument->kind == SPMM_SAME_REAL) {
        memcpy(&word, &argument->real, sizeof word);
    } else if (argument->kind == SPMM_SAME_TEXT) {
        word = spmmi_hash_text(1, argument->text == NULL ? "" : argument->text);
    }
    return word;
}

static digest_t digest_of(const char *call, int count, const spmm_same_t *argument)
{
    digest_t digest = {.word = {spmmi_hash_text(1, call)}};

    for (int a = 0; a < count; a++) {
        digest.word[a + 1] = word_of(&argument[a]);
    }
    return digest;
}

/* The call itself at place 0, then its arguments. */
static void print_value(const char *call, const spmm_same_t *argument, int place, char text[VALUE])
{
    const spmm_same_t *a = argument + (place > 0 ? place - 1 : 0);

    if (place == 0) {
        (void)snprintf(text, VALUE, "%s()", call);
    } else if (a->kind == SPMM_SAME_INT) {
        (void)snprintf(text, VALUE, "%s = %" PRId64, a->name, a->whole);
    } else if (a->kind == SPMM_SAME_REAL) {
        (void)snprintf(text, VALUE, "%s = %.17g", a->name, a->real);
    } else {
        (void)snprintf(text, VALUE, "%s = \"%.80s\"", a->name, a->text == NULL ? "" : a->text);
    }
}

static bool is_read(int count, const spmm_same_t *argument, int place)
{
    return place == 0 || place > count || argument[place - 1].kind != SPMM_SAME_ANY;
}

/* Which rank differs from which, and where. */
typedef struct {
    int place, first, other; /* first: the lowest rank that reads the argument */
} difference_t;

/* The lowest rank that differs from one below it, and the first place where it does.  Collective.
 * @param[out] found  whether one does: ranks that read nothing differ from none */
static spmm_status_t find_difference(spmm_env_t *env, const digest_t *mine, int count,
                                     const spmm_same_t *argument, difference_t *at, bool *found)
{
    int      reader[PLACES], lowest = INT_MAX;
    uint64_t word[PLACES];

    for (int k = 0; k < PLACES; k++) {
        reader[k] = is_read(count, argument, k) ? env->rank : INT_MAX;
    }
    SPMM_TRY(spmmi_allreduce(env, reader, PLACES, MPI_INT, MPI_MIN));
    for (int k = 0; k < PLACES; k++) {
        word[k] = reader[k] == env->rank ? mine->word[k] : UINT64_MAX;
    }
    SPMM_TRY(spmmi_allreduce(env, word, PLACES, MPI_UINT64_T, MPI_MIN));
    for (int k = PLACES - 1; k >= 0; k--) {
        if (is_read(count, argument, k) && word[k] != mine->word[k]) {
            lowest = env->rank * PLACES + k;
        }
    }
    SPMM_TRY(spmmi_allreduce(env, &lowest, 1, MPI_INT, MPI_MIN));
    *found = lowest != INT_MAX;
    if (*found) {
        *at = (difference_t){
            .place = lowest % PLACES, .first = reader[lowest % PLACES], .other = lowest / PLACES};
    }
    return SPMM_OK;
}

/* SPMM_OK where no rank differs after all. */
static spmm_status_t fail_difference(spmm_env_t *env, const char *call, const digest_t *mine,
                                     int count, const spmm_same_t *argument)
{
    char         there[VALUE] = "", first[VALUE] = "";
    difference_t at;
    bool         found;

    SPMM_TRY(find_difference(env, mine, count, argument, &at, &found));
    if (!found) {
        return SPMM_OK;
    }
    if (env->rank == at.other) {
        print_value(call, argument, at.place, there);
    } else if (env->rank == at.first) {
        print_value(call, argument, at.place, first);
    }
    SPMM_TRY(spmmi_bcast(env, there, VALUE, at.other));
    SPMM_TRY(spmmi_bcast(env, first, VALUE, at.first));
    if (at.place == 0) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "rank %d calls %s where rank 0 calls %s: all ranks make the same "
                          "collective calls in the same order",
                          at.other, there, first);
    }
    return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                      "%s: rank %d has %s and rank %d %s: it must be equal on all ranks", call,
                      at.other, there, at.first, first);
}

spmm_status_t spmmi_compare(spmm_env_t *env, const char *call, spmm_status_t local, int count,
                            const spmm_same_t *argument)
{
    const digest_t mine = digest_of(call, count, argument);
    uint64_t       range[2];

    range[0] = spmmi_hash_bytes((uint64_t)local, mine.word, sizeof mine.word);
    range[1] = ~range[0];
    SPMM_TRY(spmmi_allreduce(env, range, 2, MPI_UINT64_T, MPI_MIN));
    if (range[0] == ~range[1] && local == SPMM_OK) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_agree(env, local));
    return fail_difference(env, call, &mine, count, argument);
}
