/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_MQTT_H__
#define __GST_SAM_MQTT_H__

#include "record/gstsamoutput.h"

G_BEGIN_DECLS

/**
 * GstSamMqttParams:
 * @uri: mqtt://host[:port][/topic]
 * @topic: (nullable): replaces that of @uri
 * @user, @password: (nullable):
 * @qos: 0 or 1
 * @buffer: bytes of the texts that may wait for the broker
 * @wake: called from any thread when gst_sam_output's tend has work
 */
typedef struct
{
  const gchar *uri, *topic, *user, *password;
  gint qos;
  gsize buffer;
  void (*wake) (gpointer data);
  gpointer data;
} GstSamMqttParams;

/* Publish texts at a broker, each as one message. Connects in the background,
 * and again when the connection is lost. Texts that the broker has not
 * acknowledged are kept and sent again after that, in order. Returns NULL and
 * sets @error (GST_RESOURCE_ERROR) if the parameters are not valid, or if the
 * build has no MQTT. */
GstSamOutput *gst_sam_output_new_mqtt (const GstSamMqttParams * params,
    GstSamTally * tally, GError ** error);

G_END_DECLS

#endif /* __GST_SAM_MQTT_H__ */
