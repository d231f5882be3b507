/* SPDX-License-Identifier: MIT */
/* What ThreadSanitizer cannot see: GLib is not built with it, so the order that
 * its locks, counts and once-flags give to threads is told here. These functions
 * stand in the test's program, before those of the library that they call. No
 * report is suppressed: where no lock and no count of GLib orders two accesses
 * of ours, they are a race. */

#include <dlfcn.h>

#include <gio/gio.h>
#include <gst/gst.h>

/* ThreadSanitizer's, in its runtime. */
void __tsan_acquire (void *address);
void __tsan_release (void *address);

/* The function that this one stands before. */
#define REAL(name) \
  static __typeof__ (&name) real; \
  if (!__atomic_load_n (&real, __ATOMIC_RELAXED)) \
    __atomic_store_n (&real, (__typeof__ (&name)) dlsym (RTLD_NEXT, #name), \
        __ATOMIC_RELAXED)

/* ---- Locks. (GRecMutex and GRWLock are pthread's, which are seen.) */

#define LOCK(name, Type) \
  void name (Type * lock) \
  { \
    REAL (name); \
    real (lock); \
    __tsan_acquire (lock); \
  }
#define TRYLOCK(name, Type) \
  gboolean name (Type * lock) \
  { \
    REAL (name); \
    const gboolean got = real (lock); \
    if (got) \
      __tsan_acquire (lock); \
    return got; \
  }
#define UNLOCK(name, Type) \
  void name (Type * lock) \
  { \
    REAL (name); \
    __tsan_release (lock); \
    real (lock); \
  }

LOCK (g_mutex_lock, GMutex)
TRYLOCK (g_mutex_trylock, GMutex)
UNLOCK (g_mutex_unlock, GMutex)

void
g_cond_wait (GCond * cond, GMutex * mutex)
{
  REAL (g_cond_wait);
  __tsan_release (mutex);
  real (cond, mutex);
  __tsan_acquire (mutex);
}

gboolean
g_cond_wait_until (GCond * cond, GMutex * mutex, gint64 end_time)
{
  REAL (g_cond_wait_until);
  __tsan_release (mutex);
  const gboolean woken = real (cond, mutex, end_time);
  __tsan_acquire (mutex);
  return woken;
}

/* ---- Things done once. */

gboolean (g_once_init_enter) (volatile void *location)
{
  REAL (g_once_init_enter);
  const gboolean first = real (location);
  __tsan_acquire ((void *) location);
  return first;
}

void (g_once_init_leave) (volatile void *location, gsize result)
{
  REAL (g_once_init_leave);
  __tsan_release ((void *) location);
  real (location, result);
}

/* ---- Counts of references: whoever drops one has done with the thing, and who
 * drops the last one comes after all of them. */

#define UNREF(name, Type) \
  void name (Type * thing) \
  { \
    REAL (name); \
    __tsan_release (thing); \
    __tsan_acquire (thing); \
    real (thing); \
  }

UNREF (g_object_unref, void)
UNREF (gst_object_unref, void)
UNREF (gst_mini_object_unref, GstMiniObject)

/* ---- Threads, and what is handed from one to another. */

void
g_async_queue_push (GAsyncQueue * queue, gpointer data)
{
  REAL (g_async_queue_push);
  __tsan_release (queue);
  real (queue, data);
}

gpointer
g_async_queue_pop (GAsyncQueue * queue)
{
  REAL (g_async_queue_pop);
  const gpointer data = real (queue);
  __tsan_acquire (queue);
  return data;
}

/* A task runs in a thread of GLib's own pool. */
static void
run_told (GTask * task, gpointer source, gpointer data,
    GCancellable * cancellable)
{
  const GTaskThreadFunc func = g_object_get_data (G_OBJECT (task), "told");

  __tsan_acquire (task);
  func (task, source, data, cancellable);
}

void
g_task_run_in_thread (GTask * task, GTaskThreadFunc func)
{
  REAL (g_task_run_in_thread);
  g_object_set_data (G_OBJECT (task), "told", func);
  __tsan_release (task);
  real (task, run_told);
}
