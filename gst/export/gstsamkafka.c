/* SPDX-License-Identifier: MIT */
/* Texts to a Kafka cluster, with librdkafka's idempotent producer, which keeps
 * them, sends them again after failures, and lets each arrive once.
 *
 * What librdkafka has to tell waits in its queue until tend() takes it: all
 * callbacks but the one that wakes are called in the thread that writes. */

#include "gstsamkafka.h"

#include <librdkafka/rdkafka.h>
#include <string.h>

#define SCHEME "kafka://"
#define MOST_TOPIC 249
/* librdkafka's least, and its most, of a buffer. */
#define LEAST_KBYTES 1
#define MOST_KBYTES 2097151
/* How long a text waits for room while nothing is acknowledged. */
#define PATIENCE (1 * G_TIME_SPAN_SECOND)
/* How long librdkafka may take for a last look at its queue when it ends. */
#define LAST_LOOK_MS 100

typedef struct
{
  GstSamOutput parent;
  GstSamTally *tally;
  gchar *uri, *brokers, *topic, *key;
  gsize buffer;
  void (*wake) (gpointer data);
  gpointer data;

  rd_kafka_t *producer;         /* NULL: it could not be made */
  rd_kafka_queue_t *queue;      /* of what it tells */
  gboolean down;                /* all brokers, as far as is known */
  gboolean was_up;              /* once */
  gint cancelled;               /* atomic */

  /* what the tally does not know of yet */
  guint written, lost;
  gsize bytes;
  gchar *why;                   /* of what is lost */
} KafkaOutput;

/* Callbacks */

static void
on_event (rd_kafka_t * producer, void *data)
{
  KafkaOutput *self = data;

  self->wake (self->data);
}

static void
on_log (const rd_kafka_t * producer, int level, const char *facility,
    const char *text)
{
  GST_DEBUG ("%s: %s", facility, text);
}

static void
on_delivered (rd_kafka_t * producer, const rd_kafka_message_t * message,
    void *data)
{
  KafkaOutput *self = data;

  if (message->err) {
    self->lost++;
    g_free (self->why);
    self->why = g_strdup (rd_kafka_err2str (message->err));
    return;
  }
  self->written++;
  self->bytes += message->len;
}

static void
report_down (KafkaOutput * self, const gchar * why)
{
  GError *error = g_error_new (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
      "The brokers of '%s' cannot be reached: %s; lines wait for them, up to %"
      G_GSIZE_FORMAT " bytes.", self->uri, why, self->buffer);

  gst_sam_tally_add_lost (self->tally, 0, error);
  g_error_free (error);
}

static void
on_error (rd_kafka_t * producer, int code, const char *why, void *data)
{
  KafkaOutput *self = data;

  if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || self->down)
    return;
  self->down = TRUE;
  report_down (self, why);
}

/* The thread that writes */

static void
count (KafkaOutput * self)
{
  if (self->written) {
    if (self->down && self->was_up)
      gst_sam_tally_add_reconnect (self->tally);
    self->down = FALSE;
    self->was_up = TRUE;
    gst_sam_tally_add_written (self->tally, self->written, self->bytes);
  }
  if (self->lost) {
    GError *error = g_error_new (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
        "The brokers of '%s' have not acknowledged %u lines: %s.", self->uri,
        self->lost, self->why);

    gst_sam_tally_add_lost (self->tally, self->lost, error);
    g_error_free (error);
  }
  self->written = self->lost = 0;
  self->bytes = 0;
}

static gint64
kafka_tend (GstSamOutput * output)
{
  KafkaOutput *self = (KafkaOutput *) output;

  rd_kafka_poll (self->producer, 0);
  count (self);
  return G_MAXINT64;
}

static rd_kafka_resp_err_t
produce (KafkaOutput * self, const gchar * data, gsize bytes)
{
  return rd_kafka_producev (self->producer, RD_KAFKA_V_TOPIC (self->topic),
      RD_KAFKA_V_KEY (self->key, strlen (self->key)),
      RD_KAFKA_V_VALUE ((void *) data, bytes),
      RD_KAFKA_V_MSGFLAGS (RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
}

/* While the buffer is full, it waits as long as the brokers acknowledge. */
static gboolean
kafka_write (GstSamOutput * output, const gchar * data, gsize bytes,
    GError ** error)
{
  KafkaOutput *self = (KafkaOutput *) output;
  /* A message is its own line. */
  const gsize length = bytes && data[bytes - 1] == '\n' ? bytes - 1 : bytes;
  rd_kafka_resp_err_t code;

  for (;;) {
    code = g_atomic_int_get (&self->cancelled) ? RD_KAFKA_RESP_ERR__DESTROY :
        produce (self, data, length);
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL ||
        gst_sam_tally_get_idle (self->tally, 0) >= PATIENCE)
      break;
    rd_kafka_poll (self->producer, PATIENCE / 10 / 1000);
    count (self);
  }
  if (!code)
    return TRUE;
  if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
        "The brokers of '%s' do not acknowledge what they are sent: the buffer "
        "of %" G_GSIZE_FORMAT " bytes is full.", self->uri, self->buffer);
  else
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
        "A line cannot be sent to '%s': %s.", self->uri,
        rd_kafka_err2str (code));
  return FALSE;
}

static gboolean
kafka_is_settled (GstSamOutput * output)
{
  KafkaOutput *self = (KafkaOutput *) output;

  return g_atomic_int_get (&self->cancelled) ||
      (!rd_kafka_outq_len (self->producer) && !self->written);
}

static void
kafka_cancel (GstSamOutput * output)
{
  KafkaOutput *self = (KafkaOutput *) output;

  g_atomic_int_set (&self->cancelled, TRUE);
}

static void
kafka_free (GstSamOutput * output)
{
  KafkaOutput *self = (KafkaOutput *) output;

  if (self->producer) {
    rd_kafka_poll (self->producer, 0);
    /* What was not acknowledged comes back as such. */
    rd_kafka_purge (self->producer, RD_KAFKA_PURGE_F_QUEUE |
        RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_flush (self->producer, LAST_LOOK_MS);
    count (self);
    rd_kafka_queue_cb_event_enable (self->queue, NULL, NULL);
    rd_kafka_queue_destroy (self->queue);
    rd_kafka_destroy (self->producer);
  }
  g_free (self->why);
  g_free (self->uri);
  g_free (self->brokers);
  g_free (self->topic);
  g_free (self->key);
  g_free (self);
}

/* Parameters */

static gboolean
read_uri (KafkaOutput * self, GError ** error)
{
  const gchar *hosts = g_str_has_prefix (self->uri, SCHEME) ?
      self->uri + strlen (SCHEME) : NULL;
  const gchar *slash = hosts ? strchr (hosts, '/') : NULL;
  const gchar *topic = slash ? slash + 1 : "";
  const gsize length = strlen (topic);
  const gboolean user = hosts && strchr (hosts, '@');

  if (slash && slash > hosts && !user && length > 0 && length <= MOST_TOPIC &&
      strspn (topic, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-") == length) {
    self->brokers = g_strndup (hosts, slash - hosts);
    self->topic = g_strdup (topic);
    return TRUE;
  }
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "The property 'kafka-uri' is '%s', expected kafka://host[:port]"
      "[,host[:port]...]/topic%s.", user ? "(not shown)" : self->uri,
      user ? " without a user" : "");
  return FALSE;
}

static gboolean
set (rd_kafka_conf_t * conf, const gchar * name, const gchar * value,
    GError ** error)
{
  gchar why[200];

  if (rd_kafka_conf_set (conf, name, value, why, sizeof why) ==
      RD_KAFKA_CONF_OK)
    return TRUE;
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "The connection to Kafka cannot be set up: %s.", why);
  return FALSE;
}

static gboolean
make_producer (KafkaOutput * self, GError ** error)
{
  rd_kafka_conf_t *conf = rd_kafka_conf_new ();
  gchar *kbytes = g_strdup_printf ("%" G_GSIZE_FORMAT, CLAMP (self->buffer /
          1024, LEAST_KBYTES, MOST_KBYTES));
  gchar why[200];

  rd_kafka_conf_set_opaque (conf, self);
  rd_kafka_conf_set_dr_msg_cb (conf, on_delivered);
  rd_kafka_conf_set_error_cb (conf, on_error);
  rd_kafka_conf_set_log_cb (conf, on_log);
  /* Lines wait for brokers as long as there is room, and are sent at once. One
   * request at a time is enough for them; that each arrives once, and in order,
   * then needs no broker that sees a gap between two requests. */
  if (set (conf, "bootstrap.servers", self->brokers, error) &&
      set (conf, "client.id", "samexport", error) &&
      set (conf, "enable.idempotence", "true", error) &&
      set (conf, "max.in.flight.requests.per.connection", "1", error) &&
      set (conf, "message.timeout.ms", "0", error) &&
      set (conf, "queue.buffering.max.kbytes", kbytes, error) &&
      set (conf, "reconnect.backoff.max.ms", "2000", error)) {
    self->producer = rd_kafka_new (RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (self->producer)
      conf = NULL;              /* it took it */
    else
      g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
          "The connection to Kafka cannot be set up: %s.", why);
  }
  if (conf)
    rd_kafka_conf_destroy (conf);
  g_free (kbytes);
  if (!self->producer)
    return FALSE;
  self->queue = rd_kafka_queue_get_main (self->producer);
  rd_kafka_queue_cb_event_enable (self->queue, on_event, self);
  return TRUE;
}

GstSamOutput *
gst_sam_output_new_kafka (const GstSamKafkaParams * params, GstSamTally * tally,
    GError ** error)
{
  KafkaOutput *self = g_new0 (KafkaOutput, 1);

  self->parent.write = kafka_write;
  self->parent.tend = kafka_tend;
  self->parent.is_settled = kafka_is_settled;
  self->parent.cancel = kafka_cancel;
  self->parent.free = kafka_free;
  self->parent.frames = 1;
  self->tally = tally;
  self->uri = g_strdup (params->uri);
  self->key = g_strdup (params->key);
  self->buffer = params->buffer;
  self->wake = params->wake;
  self->data = params->data;
  if (read_uri (self, error) && make_producer (self, error))
    return &self->parent;
  kafka_free (&self->parent);
  return NULL;
}
