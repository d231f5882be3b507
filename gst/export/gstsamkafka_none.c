/* SPDX-License-Identifier: MIT */
/* Builds without librdkafka. */

#include "gstsamkafka.h"

GstSamOutput *
gst_sam_output_new_kafka (const GstSamKafkaParams * params, GstSamTally * tally,
    GError ** error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "The property 'kafka-uri' is '%s', but this build has no Kafka.",
      params->uri);
  return NULL;
}
