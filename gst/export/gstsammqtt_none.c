/* SPDX-License-Identifier: MIT */
/* Without Paho: no MQTT. */

#include "gstsammqtt.h"

GstSamOutput *
gst_sam_output_new_mqtt (const GstSamMqttParams * params, GstSamTally * tally,
    GError ** error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "The property 'mqtt-uri' cannot be used: this build has no MQTT "
      "(libpaho-mqtt).");
  return NULL;
}
