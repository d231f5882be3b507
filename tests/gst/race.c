/* SPDX-License-Identifier: MIT */
/* Does ThreadSanitizer see GLib's orders, and what lacks them? Two threads count:
 * with a mutex, with a thing handed over in a queue, or, to be reported, with
 * nothing between them. usage: race mutex|queue|nothing */

#include <glib.h>
#include <string.h>

#define ROUNDS 1000

typedef struct
{
  GMutex lock;
  GAsyncQueue *queue;
  const gchar *order;
  gint count;
} Shared;

static gpointer
count (gpointer data)
{
  Shared *s = data;
  gint i;

  for (i = 0; i < ROUNDS; i++) {
    if (!strcmp (s->order, "mutex")) {
      g_mutex_lock (&s->lock);
      s->count++;
      g_mutex_unlock (&s->lock);
    } else if (!strcmp (s->order, "queue")) {
      gint *turn = g_async_queue_pop (s->queue);

      s->count++;
      g_async_queue_push (s->queue, turn);
    } else {
      s->count++;
    }
  }
  return NULL;
}

int
main (int argc, char **argv)
{
  Shared s = {.queue = g_async_queue_new (),.order = argv[argc - 1] };
  GThread *other;

  g_async_queue_push (s.queue, &s.count);
  other = g_thread_new ("other", count, &s);
  count (&s);
  g_thread_join (other);
  g_async_queue_unref (s.queue);
  return s.count == 2 * ROUNDS ? 0 : 1;
}
