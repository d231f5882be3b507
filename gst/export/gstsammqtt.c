/* SPDX-License-Identifier: MIT */
/* Texts to an MQTT broker, with Paho's asynchronous client.
 *
 * A client of Paho's serves one connection. What is sent again after a loss,
 * and in which order, is decided here: Paho keeps commands that it has not sent
 * and forgets messages that it has, both depending on what the broker remembers
 * of the session.
 *
 * Paho calls back in its threads with a lock of its own held, which its
 * functions take: none is called with our lock held, and callbacks only take
 * notes. */

#include "gstsammqtt.h"

#include "common/gstsammutex.h"

#include <MQTTAsync.h>
#include <string.h>

#define DEFAULT_PORT 1883
#define CONNECT_TIMEOUT 5       /* s */
#define KEEP_ALIVE 10           /* s */
#define FIRST_RETRY (G_TIME_SPAN_SECOND / 4)
#define LAST_RETRY (15 * G_TIME_SPAN_SECOND)

/* Messages that are sent without having been acknowledged. */
#define WINDOW 32

/* How long a text waits for room while nothing is acknowledged. */
#define PATIENCE (1 * G_TIME_SPAN_SECOND)

typedef enum
{
  STATE_DOWN,                   /* there is no client */
  STATE_CONNECTING,
  STATE_UP,
  STATE_BROKEN,                 /* the client is to be freed */
} State;

typedef struct _MqttOutput MqttOutput;

typedef struct
{
  MqttOutput *output;
  gchar *data;
  gsize bytes;
  gboolean acknowledged;
} Text;

struct _MqttOutput
{
  GstSamOutput parent;
  GstSamTally *tally;
  gchar *uri, *server, *topic, *user, *password, *client_id;
  gint qos;
  gsize buffer;
  void (*wake) (gpointer data);
  gpointer data;

  /* the thread that writes */
  MQTTAsync client;
  gint64 retry, retry_at;       /* us; the second one monotonic */
  gboolean was_up;              /* once */
  gboolean noted_up;            /* of this client */

  GstSamMutex lock;
  GCond acknowledgement;

  /* guarded by @lock */
  State state;
  GQueue texts;                 /* that are not acknowledged, in order */
  GList *next;                  /* the first that was not sent, in @texts */
  guint on_the_way;
  gsize held;                   /* bytes of @texts */
  guint acknowledged;           /* texts that the tally does not know of yet */
  gsize acknowledged_bytes;
  gchar *why;                   /* of the state BROKEN */
  gboolean cancelled;
};

/* Callbacks */

static void
note_break (MqttOutput * self, const gchar * why)
{
  gst_sam_mutex_lock (&self->lock);
  if (self->state != STATE_BROKEN) {
    self->state = STATE_BROKEN;
    g_free (self->why);
    self->why = g_strdup (why);
  }
  gst_sam_mutex_unlock (&self->lock);
  self->wake (self->data);
}

static void
on_lost (void *data, char *cause)
{
  note_break (data, "the connection was lost");
}

static int
on_message (void *data, char *topic, int bytes, MQTTAsync_message * message)
{
  MQTTAsync_freeMessage (&message);
  MQTTAsync_free (topic);
  return 1;
}

static void
on_connected (void *data, MQTTAsync_successData * response)
{
  MqttOutput *self = data;

  gst_sam_mutex_lock (&self->lock);
  if (self->state == STATE_CONNECTING)
    self->state = STATE_UP;
  gst_sam_mutex_unlock (&self->lock);
  self->wake (self->data);
}

static void
on_refused (void *data, MQTTAsync_failureData * response)
{
  MqttOutput *self = data;
  const char *why = response ? response->message : NULL;

  if (!why && response && response->code > 0)
    why = response->code == 4 || response->code == 5 ?
        "it does not accept the user or the password" :
        "it refuses the connection";
  note_break (self, why ? why : "there is no connection");
}

/* They come in order, but nothing depends on it. */
static void
on_acknowledged (void *data, MQTTAsync_successData * response)
{
  Text *text = data;
  MqttOutput *self = text->output;

  gst_sam_mutex_lock (&self->lock);
  text->acknowledged = TRUE;
  self->on_the_way--;
  while ((text = g_queue_peek_head (&self->texts)) && text->acknowledged) {
    g_queue_pop_head (&self->texts);
    self->held -= text->bytes;
    self->acknowledged++;
    self->acknowledged_bytes += text->bytes;
    g_free (text->data);
    g_free (text);
  }
  g_cond_signal (&self->acknowledgement);
  gst_sam_mutex_unlock (&self->lock);
  self->wake (self->data);
}

static void
on_not_sent (void *data, MQTTAsync_failureData * response)
{
  note_break (((Text *) data)->output, "a message could not be sent");
}

/* The thread that writes */

static void
connect_client (MqttOutput * self)
{
  MQTTAsync_connectOptions options = MQTTAsync_connectOptions_initializer;
  int status;

  options.MQTTVersion = MQTTVERSION_3_1_1;
  options.keepAliveInterval = KEEP_ALIVE;
  options.connectTimeout = CONNECT_TIMEOUT;
  options.cleansession = 1;
  options.maxInflight = WINDOW;
  options.username = self->user;
  options.password = self->password;
  options.onSuccess = on_connected;
  options.onFailure = on_refused;
  options.context = self;
  gst_sam_mutex_lock (&self->lock);
  self->state = STATE_CONNECTING;
  gst_sam_mutex_unlock (&self->lock);
  self->noted_up = FALSE;
  status = MQTTAsync_create (&self->client, self->server, self->client_id,
      MQTTCLIENT_PERSISTENCE_NONE, NULL);
  if (status == MQTTASYNC_SUCCESS)
    status = MQTTAsync_setCallbacks (self->client, self, on_lost, on_message,
        NULL);
  if (status == MQTTASYNC_SUCCESS)
    status = MQTTAsync_connect (self->client, &options);
  if (status != MQTTASYNC_SUCCESS)
    note_break (self, MQTTAsync_strerror (status));
}

/* After this no callback knows a text. */
static void
close_client (MqttOutput * self)
{
  if (self->client)
    MQTTAsync_destroy (&self->client);
  self->client = NULL;
}

static void
report_break (MqttOutput * self, const gchar * why)
{
  GError *error = g_error_new (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
      "The broker of '%s' cannot be reached: %s; lines wait for it, up to %"
      G_GSIZE_FORMAT " bytes.", self->uri, why, self->buffer);

  gst_sam_tally_add_lost (self->tally, 0, error);
  g_error_free (error);
}

/* The connection is lost, or was not made. What was sent and not acknowledged
 * is sent again over the next one. */
static void
handle_break (MqttOutput * self)
{
  gchar *why;

  gst_sam_mutex_lock (&self->lock);
  why = g_steal_pointer (&self->why);
  gst_sam_mutex_unlock (&self->lock);
  report_break (self, why ? why : "the connection was lost");
  g_free (why);
  close_client (self);
  gst_sam_mutex_lock (&self->lock);
  self->state = STATE_DOWN;
  self->next = self->texts.head;
  self->on_the_way = 0;
  gst_sam_mutex_unlock (&self->lock);
  self->retry_at = g_get_monotonic_time () + self->retry;
  self->retry = MIN (2 * self->retry, LAST_RETRY);
}

static void
note_up (MqttOutput * self)
{
  if (self->noted_up)
    return;
  self->noted_up = TRUE;
  self->retry = FIRST_RETRY;
  if (self->was_up)
    gst_sam_tally_add_reconnect (self->tally);
  self->was_up = TRUE;
}

/* The next text that may be sent now. */
static Text *
take_next (MqttOutput * self)
{
  Text *text = NULL;

  gst_sam_mutex_lock (&self->lock);
  if (self->state == STATE_UP && self->next && self->on_the_way < WINDOW) {
    text = self->next->data;
    self->next = self->next->next;
    self->on_the_way++;
  }
  gst_sam_mutex_unlock (&self->lock);
  return text;
}

static void
send_texts (MqttOutput * self)
{
  Text *text;

  while ((text = take_next (self))) {
    MQTTAsync_message message = MQTTAsync_message_initializer;
    MQTTAsync_responseOptions options = MQTTAsync_responseOptions_initializer;
    int status;

    message.payload = text->data;
    message.payloadlen = text->bytes;
    message.qos = self->qos;
    options.onSuccess = on_acknowledged;
    options.onFailure = on_not_sent;
    options.context = text;
    status = MQTTAsync_sendMessage (self->client, self->topic, &message,
        &options);
    if (status != MQTTASYNC_SUCCESS) {
      note_break (self, MQTTAsync_strerror (status));
      return;
    }
  }
}

static void
count_acknowledged (MqttOutput * self)
{
  guint texts;
  gsize bytes;

  gst_sam_mutex_lock (&self->lock);
  texts = self->acknowledged;
  bytes = self->acknowledged_bytes;
  self->acknowledged = self->acknowledged_bytes = 0;
  gst_sam_mutex_unlock (&self->lock);
  if (texts)
    gst_sam_tally_add_written (self->tally, texts, bytes);
}

static State
get_state (MqttOutput * self)
{
  State state;

  gst_sam_mutex_lock (&self->lock);
  state = self->state;
  gst_sam_mutex_unlock (&self->lock);
  return state;
}

static gint64
mqtt_tend (GstSamOutput * output)
{
  MqttOutput *self = (MqttOutput *) output;
  gboolean cancelled;

  gst_sam_mutex_lock (&self->lock);
  cancelled = self->cancelled;
  gst_sam_mutex_unlock (&self->lock);
  count_acknowledged (self);
  if (cancelled)
    return G_MAXINT64;
  if (get_state (self) == STATE_BROKEN)
    handle_break (self);
  if (get_state (self) == STATE_DOWN) {
    if (g_get_monotonic_time () < self->retry_at)
      return self->retry_at;
    connect_client (self);
  }
  if (get_state (self) == STATE_UP) {
    note_up (self);
    send_texts (self);
  }
  return G_MAXINT64;
}

/* Called with the lock held. */
static gboolean
has_room (const MqttOutput * self, gsize bytes)
{
  return !self->cancelled && self->held + bytes <= self->buffer;
}

/* While the broker acknowledges what it is sent, or is being connected to: the
 * queue of frames may fill meanwhile. */
static void
wait_for_room (MqttOutput * self, gsize bytes)
{
  gboolean wait, connecting;

  do {
    mqtt_tend (&self->parent);
    gst_sam_mutex_lock (&self->lock);
    wait = !has_room (self, bytes) && !self->cancelled && self->held > 0;
    connecting = self->state == STATE_CONNECTING;
    if (wait && !self->acknowledged)
      gst_sam_mutex_wait_until (&self->lock, &self->acknowledgement,
          g_get_monotonic_time () + PATIENCE / 10);
    gst_sam_mutex_unlock (&self->lock);
  } while (wait && (connecting ||
          gst_sam_tally_get_idle (self->tally, 0) < PATIENCE));
}

static gboolean
mqtt_write (GstSamOutput * output, const gchar * data, gsize bytes,
    GError ** error)
{
  MqttOutput *self = (MqttOutput *) output;
  /* A message is its own line. */
  const gsize length = bytes && data[bytes - 1] == '\n' ? bytes - 1 : bytes;
  gboolean room;
  Text *text;

  wait_for_room (self, length);
  gst_sam_mutex_lock (&self->lock);
  room = has_room (self, length);
  if (room) {
    text = g_new0 (Text, 1);
    text->output = self;
    text->data = g_memdup2 (data, length);
    text->bytes = length;
    g_queue_push_tail (&self->texts, text);
    if (!self->next)
      self->next = self->texts.tail;
    self->held += length;
  }
  gst_sam_mutex_unlock (&self->lock);
  if (!room)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
        "The broker of '%s' does not acknowledge what it is sent: the buffer of"
        " %" G_GSIZE_FORMAT " bytes is full.", self->uri, self->buffer);
  return room;
}

static gboolean
mqtt_is_settled (GstSamOutput * output)
{
  MqttOutput *self = (MqttOutput *) output;
  gboolean settled;

  gst_sam_mutex_lock (&self->lock);
  settled = (!self->texts.length && !self->acknowledged) || self->cancelled;
  gst_sam_mutex_unlock (&self->lock);
  return settled;
}

static void
mqtt_cancel (GstSamOutput * output)
{
  MqttOutput *self = (MqttOutput *) output;

  gst_sam_mutex_lock (&self->lock);
  self->cancelled = TRUE;
  g_cond_signal (&self->acknowledgement);
  gst_sam_mutex_unlock (&self->lock);
}

static void
free_text (gpointer data)
{
  g_free (((Text *) data)->data);
  g_free (data);
}

static void
mqtt_free (GstSamOutput * output)
{
  MqttOutput *self = (MqttOutput *) output;

  close_client (self);
  count_acknowledged (self);
  if (self->texts.length) {
    GError *error = g_error_new (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
        "The broker of '%s' has not acknowledged %u lines.", self->uri,
        self->texts.length);

    gst_sam_tally_add_lost (self->tally, self->texts.length, error);
    g_error_free (error);
  }
  g_queue_clear_full (&self->texts, free_text);
  g_cond_clear (&self->acknowledgement);
  gst_sam_mutex_clear (&self->lock);
  g_free (self->why);
  g_free (self->uri);
  g_free (self->server);
  g_free (self->topic);
  g_free (self->user);
  g_free (self->password);
  g_free (self->client_id);
  g_free (self);
}

/* Parameters */

static gboolean
refuse (const gchar * property, const gchar * value, const gchar * expected,
    GError ** error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "The property '%s' is '%s', expected %s.", property, value, expected);
  return FALSE;
}

static gboolean
set_server (MqttOutput * self, const GstUri * uri, GError ** error)
{
  const gchar *host = uri ? gst_uri_get_host (uri) : NULL;
  guint port = uri ? gst_uri_get_port (uri) : 0;

  if (port == GST_URI_NO_PORT)
    port = DEFAULT_PORT;

  if (uri && gst_uri_get_userinfo (uri))
    return refuse ("mqtt-uri", "(not shown)",
        "no user in it; there are the properties 'mqtt-user' and "
        "'mqtt-password'", error);
  if (!host || !*host || port > 65535 ||
      g_strcmp0 (gst_uri_get_scheme (uri), "mqtt"))
    return refuse ("mqtt-uri", self->uri, "mqtt://host[:port][/topic]", error);
  self->server = g_strdup_printf (strchr (host, ':') ? "tcp://[%s]:%u" :
      "tcp://%s:%u", host, port);
  return TRUE;
}

static gboolean
set_topic (MqttOutput * self, const GstUri * uri, const gchar * topic,
    GError ** error)
{
  gchar *path = gst_uri_get_path (uri);

  if (topic && *topic)
    self->topic = g_strdup (topic);
  else
    self->topic = g_strdup (path && *path == '/' ? path + 1 : "");
  g_free (path);
  if (*self->topic && g_utf8_validate (self->topic, -1, NULL) &&
      !strpbrk (self->topic, "#+") && strlen (self->topic) < 65536)
    return TRUE;
  return refuse ("mqtt-topic", self->topic,
      "a topic without '#' and '+', there or in 'mqtt-uri'", error);
}

GstSamOutput *
gst_sam_output_new_mqtt (const GstSamMqttParams * params, GstSamTally * tally,
    GError ** error)
{
  MqttOutput *self = g_new0 (MqttOutput, 1);
  GstUri *uri = gst_uri_from_string (params->uri);
  gboolean ok;

  self->parent.write = mqtt_write;
  self->parent.tend = mqtt_tend;
  self->parent.is_settled = mqtt_is_settled;
  self->parent.cancel = mqtt_cancel;
  self->parent.free = mqtt_free;
  self->parent.frames = 1;
  self->tally = tally;
  self->uri = g_strdup (params->uri);
  self->user = g_strdup (params->user);
  self->password = g_strdup (params->password);
  self->client_id = g_strdup_printf ("samexport-%08x", g_random_int ());
  self->qos = params->qos;
  self->buffer = params->buffer;
  self->wake = params->wake;
  self->data = params->data;
  self->retry = FIRST_RETRY;
  gst_sam_mutex_init (&self->lock, GST_SAM_RANK_MQTT);
  g_cond_init (&self->acknowledgement);
  g_queue_init (&self->texts);
  ok = set_server (self, uri, error) &&
      set_topic (self, uri, params->topic, error);
  if (uri)
    gst_uri_unref (uri);
  if (ok)
    return &self->parent;
  mqtt_free (&self->parent);
  return NULL;
}
